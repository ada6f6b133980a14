#!/usr/bin/env python3
"""`pipec lsp` with a real client: Neovim, without a window, with the plugin in editors/vim.

    neovim_test.py PIPEC SOURCE_DIRECTORY      exit code 77 (skipped) without nvim
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

pipec, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
if not shutil.which("nvim"):
    print("skipped: there is no nvim; get it with: apt-get install neovim")
    sys.exit(77)

PROGRAM = """import "stencil"

/// A blur.
pipeline blur(img: float32[R + 2, C]) -> out: float32[R, C] {
    rows(y, x) = img(y, x) + img(y + 1, x)+img(y + 2, x)
    out(y, x) = rowz(y, x) / 3
}
"""

SCRIPT = r"""
local failures = 0
local function check(what, condition, detail)
  if not condition then
    failures = failures + 1
    print('FAILED: ' .. what .. ' ' .. vim.inspect(detail))
  end
end
local function wait(what, condition)
  check(what, vim.wait(20000, condition, 20))
end
local buffer = vim.api.nvim_get_current_buf()
check('the file type', vim.bo.filetype == 'pipe', vim.bo.filetype)
wait('the server is attached', function() return #vim.lsp.get_active_clients() == 1 end)
wait('diagnostics', function() return #vim.diagnostic.get(buffer) > 0 end)
local found = vim.diagnostic.get(buffer)
check('the unknown name', found[1].code == 'unknown-name' and found[1].lnum == 5 and found[1].col == 16, found)

local function ask(method, line, column, more)
  local params = {textDocument = vim.lsp.util.make_text_document_params(), position = {line = line, character = column}}
  local answers = vim.lsp.buf_request_sync(buffer, method, vim.tbl_extend('force', params, more or {}), 20000)
  for _, answer in pairs(answers or {}) do return answer.result end
end

-- The quick fix makes the program right.
local range = {start = {line = 5, character = 16}, ['end'] = {line = 5, character = 20}}
local actions = ask('textDocument/codeAction', 5, 16, {range = range, context = {diagnostics = {}}})
check('a quick fix', actions ~= nil and #actions >= 1, actions)
vim.lsp.util.apply_workspace_edit(actions[1].edit, 'utf-16')
wait('no diagnostics', function() return #vim.diagnostic.get(buffer) == 0 end)
check('the fix', vim.api.nvim_buf_get_lines(buffer, 5, 6, false)[1] == '    out(y, x) = rows(y, x) / 3')

local hover = ask('textDocument/hover', 3, 10)
check('hover', hover.contents.value:find('A blur.') ~= nil, hover)
local definition = ask('textDocument/definition', 5, 17)
check('definition', definition.range.start.line == 4, definition)
local symbols = ask('textDocument/documentSymbol', 0, 0)
check('symbols', symbols[1].name == 'blur', symbols)

local renamed = ask('textDocument/rename', 4, 5, {newName = 'lines'})
vim.lsp.util.apply_workspace_edit(renamed, 'utf-16')
check('rename', vim.api.nvim_buf_get_lines(buffer, 5, 6, false)[1] == '    out(y, x) = lines(y, x) / 3')

if vim.lsp.buf.format then
  vim.lsp.buf.format({timeout_ms = 20000})
else
  vim.lsp.buf.formatting_sync({}, 20000)
end
check('format', vim.api.nvim_buf_get_lines(buffer, 4, 5, false)[1]
      == '    lines(y, x) = img(y, x) + img(y + 1, x) + img(y + 2, x)', vim.api.nvim_buf_get_lines(buffer, 4, 5, false))

-- Typing, as a person does.
vim.api.nvim_buf_set_lines(buffer, 6, 6, false, {'    ooops'})
wait('the error of what is typed', function() return #vim.diagnostic.get(buffer) > 0 end)
vim.api.nvim_buf_set_lines(buffer, 6, 7, false, {})
wait('and none again', function() return #vim.diagnostic.get(buffer) == 0 end)
check('the server lives', #vim.lsp.get_active_clients() == 1)
print(failures .. ' failures')
vim.cmd(failures == 0 and 'qall!' or 'cquit!')
"""

directory = pathlib.Path(tempfile.mkdtemp())
(directory / "blur.pipe").write_text(PROGRAM)
(directory / "test.lua").write_text(SCRIPT)
environment = {**os.environ, "PATH": f"{pipec.parent}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(directory / "cache"),
               "XDG_CONFIG_HOME": str(directory), "XDG_DATA_HOME": str(directory), "XDG_STATE_HOME": str(directory),
               "XDG_RUNTIME_DIR": str(directory)}
command = ["nvim", "--headless", "--clean", "--cmd", f"set runtimepath^={source / 'editors/vim'}",
           "--cmd", "filetype plugin indent on", "blur.pipe", "-c", "luafile test.lua"]
result = subprocess.run(command, cwd=directory, env=environment, timeout=100, capture_output=True, text=True)
print(result.stdout + result.stderr)
sys.exit(result.returncode)
