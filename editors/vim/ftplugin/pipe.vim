" Editing .pipe: comments, indentation by four spaces, and :make with pipec.
if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1

setlocal comments=s1:/*,mb:*,ex:*/,:///,://
setlocal commentstring=//\ %s
setlocal formatoptions-=t formatoptions+=croql
setlocal expandtab shiftwidth=4 softtabstop=4
setlocal suffixesadd=.pipe
let &l:include = '^\s*import\>'
let &l:define = '^\s*\%(fn\|const\|pipeline\|accumulate\)\>'
compiler pipec
if has('nvim')
  lua require('pipec').start()
endif

let b:undo_ftplugin = 'setlocal comments< commentstring< formatoptions< expandtab< shiftwidth< softtabstop<'
      \ . ' suffixesadd< include< define< makeprg< errorformat< | unlet! b:current_compiler'
