" Run by vim_test.py: does in Vim what a person would, and writes what came of it as JSON.
" g:work.programs: files whose syntax groups are wanted; .messages: files of pipec's messages; .indent: a program whose
" indentation is taken away and made anew, where that of the programs is only made anew; .output: where the answer goes.
filetype plugin indent on
syntax on
set nomore hidden noswapfile

let g:answer = {'groups': {}, 'reindented': {}, 'messages': {}, 'settings': {}}
for s:file in g:work.programs
  execute 'edit' fnameescape(s:file)
  let s:groups = []
  for s:lnum in range(1, line('$'))
    call add(s:groups, map(range(1, col([s:lnum, '$']) - 1), 'synIDattr(synID(s:lnum, v:val, 1), "name")'))
  endfor
  let g:answer.groups[s:file] = s:groups
  silent normal! gg=G
  let g:answer.reindented[s:file] = getline(1, '$')
endfor

execute 'edit' fnameescape(g:work.indent)
silent %substitute/^\s\+//e
silent normal! gg=G
let g:answer.indented = getline(1, '$')
let g:answer.settings = {'filetype': &filetype, 'commentstring': &commentstring, 'makeprg': &makeprg}

for s:file in g:work.messages
  execute 'cgetfile' fnameescape(s:file)
  let s:entries = filter(getqflist(), 'v:val.valid && v:val.bufnr')
  let g:answer.messages[s:file] =
        \ map(s:entries, '[bufname(v:val.bufnr), v:val.lnum, v:val.col, v:val.type, v:val.text]')
endfor

call writefile([json_encode(g:answer)], g:work.output)
quitall!
