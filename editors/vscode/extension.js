// Starts the language server, `pipec lsp`. Everything else about it is the client library's.
'use strict';

const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

let client;

async function start() {
  const settings = vscode.workspace.getConfiguration('pipec');
  if (!settings.get('languageServer')) return;
  const command = settings.get('path') || 'pipec';
  const server = { command, args: ['lsp'] };
  client = new LanguageClient('pipec', 'pipec', server, {
    documentSelector: [{ language: 'pipe' }],
    initializationOptions: { includeDirs: settings.get('includeDirs') },
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher('**/*.pipe') },
  });
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    vscode.window.showWarningMessage(`pipec: cannot start \`${command} lsp\`: ${error.message || error}`);
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running) await running.stop();
}

async function activate(context) {
  context.subscriptions.push(vscode.commands.registerCommand('pipec.restart', async () => {
    await stop();
    await start();
  }));
  await start();
}

module.exports = { activate, deactivate: stop };
