-- Neovim: starts the language server for the buffer, one server for all buffers. g:pipec_command is what starts it
-- ({'pipec', 'lsp'}); g:pipec_lsp = 0 in a configuration means: do not.
local M = {}

local client

function M.start()
  local command = vim.g.pipec_command or {'pipec', 'lsp'}
  if vim.g.pipec_lsp == 0 or vim.fn.executable(command[1]) == 0 then return end
  local config = {
    name = 'pipec',
    cmd = command,
    root_dir = vim.fn.getcwd(),
    init_options = {includeDirs = vim.g.pipec_include_dirs or {}},
  }
  if vim.lsp.start then
    vim.lsp.start(config)
    return
  end
  -- Neovim before 0.8
  if not client or not vim.lsp.get_client_by_id(client) then client = vim.lsp.start_client(config) end
  if client then vim.lsp.buf_attach_client(vim.api.nvim_get_current_buf(), client) end
end

return M
