autocmd BufNewFile,BufRead *.pipe setfiletype pipe
