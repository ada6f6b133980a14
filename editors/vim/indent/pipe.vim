" Indentation of .pipe: one step inside of brackets and for what continues the head of a pipeline, else as the statement
" above. Where a statement goes on in another line, what a person has aligned there stays as it is.
if exists('b:did_indent')
  finish
endif
let b:did_indent = 1

setlocal indentexpr=PipeIndent(v:lnum)
setlocal indentkeys=0{,0},0),0],!^F,o,O,0=->,0=where
let b:undo_indent = 'setlocal indentexpr< indentkeys<'

if exists('*PipeIndent')
  finish
endif

" The line without its comment and strings.
function s:Code(lnum) abort
  return substitute(substitute(getline(a:lnum), '"[^"]*"', '', 'g'), '//.*', '', '')
endfunction

" Indentation of the line in which the bracket that begins line `lnum` was opened.
function s:OpeningIndent(lnum, bracket) abort
  let l:pair = {'}': '{', ')': '(', ']': '\['}[a:bracket]
  call cursor(a:lnum, 1)
  call search('\V' . a:bracket, 'c', a:lnum)
  let l:opening = searchpair(l:pair, '', '\V' . a:bracket, 'bnW',
        \ 'synIDattr(synID(line("."), col("."), 1), "name") =~# "Comment\\|String"')
  return l:opening > 0 ? indent(l:opening) : -1
endfunction

" Whether line `lnum` goes on with what the one above began.
function s:Continues(lnum) abort
  let l:above = prevnonblank(a:lnum - 1)
  return l:above > 0 && (s:Code(a:lnum) =~# '^\s*\%([-+*/%&|^<>=]\|\%(else\|then\|and\|or\|in\)\>\)'
        \ || s:Code(l:above) =~# '\%([-+*/%&|^<>=,]\|\<\%(else\|then\|and\|or\|not\|in\)\)\s*$')
endfunction

" Indentation of the head `pipeline name(...)` that line `lnum` still belongs to, or -1.
function s:HeadIndent(lnum) abort
  let l:above = a:lnum
  while l:above > 0 && s:Code(l:above) !~# '[{}]'
    if s:Code(l:above) =~# '^\s*pipeline\>'
      return indent(l:above)
    endif
    let l:above -= 1
  endwhile
  return -1
endfunction

function PipeIndent(lnum) abort
  let l:line = s:Code(a:lnum)
  let l:first = matchstr(l:line, '^\s*\zs\S')
  if l:first =~# '[})\]]'
    return s:OpeningIndent(a:lnum, l:first)
  endif
  let l:above = prevnonblank(a:lnum - 1)
  if l:above == 0
    return 0
  endif
  if l:line =~# '^\s*\%({\|->\|where\>\)'
    let l:head = s:HeadIndent(l:above)
    if l:head >= 0
      return l:head + (l:first ==# '{' ? 0 : shiftwidth())
    endif
  endif
  let l:start = l:above
  while s:Continues(l:start)
    let l:start = prevnonblank(l:start - 1)
  endwhile
  let l:step = s:Code(l:above) =~# '[{(\[]\s*$' ? shiftwidth() : 0
  if s:Continues(a:lnum)
    return max([l:step + indent(l:start), l:line =~# '\S' ? indent(a:lnum) : indent(l:above)])
  endif
  return l:step + indent(l:start)
endfunction
