// `pipec lsp` with the library that VS Code's clients are made of: client_test.js PIPEC SOURCE_DIRECTORY
// Exit code 77 (skipped) where the extension's packages are not installed.
'use strict';
const { spawn } = require('child_process');
const fs = require('fs');
const path = require('path');
const url = require('url');

const [pipec, source] = process.argv.slice(2);
const packages = path.join(source, 'editors/vscode/node_modules');
let protocol;
try {
  protocol = require(path.join(packages, 'vscode-languageserver-protocol/node'));
} catch {
  console.log('skipped: there is no vscode-languageclient; get it with: (cd editors/vscode && npm ci)');
  process.exit(77);
}

let failures = 0;
function check(what, condition, detail) {
  if (condition) return;
  failures += 1;
  console.log(`FAILED: ${what}`, detail === undefined ? '' : JSON.stringify(detail));
}

/// The extension in an editor that is not there: it starts this server for .pipe files, and stops it.
async function checkExtension() {
  const Module = require('module');
  const started = [];
  const settings = { languageServer: true, path: pipec, includeDirs: ['lib'] };
  const vscode = {
    workspace: { getConfiguration: () => ({ get: (name) => settings[name] }), createFileSystemWatcher: () => ({}) },
    window: { showWarningMessage: (text) => check('no warning', false, text) },
    commands: { registerCommand: () => ({}) },
  };
  class LanguageClient {
    constructor(id, name, server, options) { this.made = { server, options }; }
    async start() { started.push(this.made); }
    async stop() { started.pop(); }
  }
  const load = Module._load;
  Module._load = (name, ...rest) =>
    name === 'vscode' ? vscode : name === 'vscode-languageclient/node' ? { LanguageClient } : load(name, ...rest);
  const extension = require(path.join(source, 'editors/vscode/extension.js'));
  Module._load = load;
  await extension.activate({ subscriptions: [] });
  check('the server is started', started.length === 1 && started[0].server.command === pipec, started);
  check('with its settings', started[0].options.initializationOptions.includeDirs[0] === 'lib', started);
  check('for the language', started[0].options.documentSelector[0].language === 'pipe', started);
  await extension.deactivate();
  check('and stopped', started.length === 0, started);
}

async function main() {
  await checkExtension();
  const child = spawn(pipec, ['lsp'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const connection = protocol.createProtocolConnection(new protocol.StreamMessageReader(child.stdout),
                                                       new protocol.StreamMessageWriter(child.stdin));
  const waiting = [];
  connection.onNotification(protocol.PublishDiagnosticsNotification.type, (params) => {
    for (const resolve of waiting.splice(0)) resolve(params);
  });
  const diagnostics = () => new Promise((resolve) => waiting.push(resolve));
  connection.listen();
  const result = await connection.sendRequest(protocol.InitializeRequest.type,
                                              { processId: process.pid, rootUri: null, capabilities: {} });
  const can = result.capabilities;
  check('capabilities', can.hoverProvider && can.renameProvider.prepareProvider && can.inlayHintProvider, can);
  await connection.sendNotification(protocol.InitializedNotification.type, {});

  const file = path.join(source, 'examples/harris.pipe');
  const uri = url.pathToFileURL(file).href;
  const text = fs.readFileSync(file, 'utf8');
  let published = diagnostics();
  await connection.sendNotification(protocol.DidOpenTextDocumentNotification.type,
                                    { textDocument: { uri, languageId: 'pipe', version: 1, text } });
  check('no diagnostics', (await published).diagnostics.length === 0);
  await diagnostics();  // of the whole analysis
  const at = (word) => {
    const lines = text.slice(0, text.indexOf(word)).split('\n');
    return { textDocument: { uri }, position: { line: lines.length - 1, character: lines[lines.length - 1].length } };
  };
  const hover = await connection.sendRequest(protocol.HoverRequest.type, at('iyy = '));
  check('hover', hover.contents.value.includes('computed for'), hover);
  const items = await connection.sendRequest(protocol.CompletionRequest.type, at('box3(ixx'));
  check('completion', items.items.some((item) => item.label === 'box3'), items.items.length);
  const textDocument = { uri };
  const tokens = await connection.sendRequest(protocol.SemanticTokensRequest.type, { textDocument });
  check('semantic tokens', tokens.data.length % 5 === 0 && tokens.data.length > 100);
  const range = { start: { line: 0, character: 0 }, end: { line: 1000, character: 0 } };
  const hints = await connection.sendRequest(protocol.InlayHintRequest.type, { textDocument, range });
  check('inlay hints', hints.some((hint) => hint.label.includes('1..R + 3')), hints);
  published = diagnostics();
  await connection.sendNotification(protocol.DidChangeTextDocumentNotification.type, {
    textDocument: { uri, version: 2 }, contentChanges: [{ range: { ...range, end: range.start }, text: 'oops\n' }] });
  check('an error', (await published).diagnostics.length > 0);
  await connection.sendRequest(protocol.ShutdownRequest.type);
  const ended = new Promise((resolve) => child.on('exit', resolve));
  await connection.sendNotification(protocol.ExitNotification.type);
  check('the end', await ended === 0);
  console.log(`${failures} failures`);
  process.exit(failures === 0 ? 0 : 1);
}

main().catch((error) => {
  console.log(error);
  process.exit(1);
});
