" :make checks the file with pipec; the quickfix list has its messages, each with its id, and its notes.
if exists('current_compiler')
  finish
endif
let current_compiler = 'pipec'

if exists(':CompilerSet') != 2
  command -nargs=* CompilerSet setlocal <args>
endif

CompilerSet makeprg=pipec\ -fsyntax-only\ --color\ never\ %:S
" Some messages and notes have no place. What is left are lines of source, carets and the count.
CompilerSet errorformat=%f:%l:%c:\ %trror:\ %m,%f:%l:%c:\ %tarning:\ %m,%f:%l:%c:\ %tote:\ %m,%+Gnote:\ %m,%+Gpipec:\ %m,%-G%.%#
