" Syntax of .pipe, image pipelines; the language is described in docs/language.md of pipec.
if exists('b:current_syntax')
  finish
endif
syntax case match
" A block comment is found wherever it begins.
syntax sync fromstart

syntax match pipeOperator /[-+*/%&|^~<>=]/
syntax match pipeOperator /!=/
syntax match pipeOperator /\.\.=\?/
syntax match pipeUpdate /[+*]==\@!/
syntax match pipeUpdate /\<\%(min\|max\)==\@!/
" Operators of other languages, each of which the compiler answers with what is meant.
syntax match pipeError /&&\|||\|\*\*\|!=\@!\|?\|\%([-/%&|^]\|<<\|>>\)==\@!/

" As in the lexer: a digit on both sides of a dot, `_` between digits only; `0..4` is a range.
syntax match pipeError /\<\d\w*\%(\.\d\w*\)\?/
syntax match pipeNumber /\<\d\%(_\?\d\)*\%(\w\|\.\d\)\@!/
syntax match pipeNumber /\<0[xX]\x\%(_\?\x\)*\%(\w\|\.\d\)\@!/
syntax match pipeNumber /\<0[bB][01]\%(_\?[01]\)*\%(\w\|\.\d\)\@!/
syntax match pipeFloat /\<\d\%(_\?\d\)*[eE][-+]\?\d\%(_\?\d\)*\%(\w\|\.\d\)\@!/
syntax match pipeFloat /\<\d\%(_\?\d\)*\.\d\%(_\?\d\)*\%([eE][-+]\?\d\%(_\?\d\)*\)\?\w\@!/

" Names like any other, so only where they are called. `min` and `max` are reductions where a range list follows.
syntax match pipeFunction /\<\%(abs\|acos\|asin\|atan\|atan2\|ceil\|clamp\|cos\|cosh\|exp\|exp2\|extent\)\>\ze\s*(/
syntax match pipeFunction /\<\%(floor\|fract\|hypot\|isnan\|length\|lerp\|log\|log2\|lower\|max\|min\|pow\)\>\ze\s*(/
syntax match pipeFunction /\<\%(rank\|round\|rsqrt\|select\|sin\|sinh\|sqrt\|tan\|tanh\|trunc\|upper\)\>\ze\s*(/
syntax match pipeReduction /\<\%(min\|max\)\>\ze\s*(\s*\h\w*\s\+in\>/
syntax keyword pipeReduction sum prod any all argmin argmax

syntax keyword pipeImport import
syntax keyword pipeDeclaration const let accumulate
syntax keyword pipeDeclaration fn pipeline nextgroup=pipeName skipwhite
syntax match pipeName /\h\w*/ contained
syntax keyword pipeClause where order
syntax keyword pipeConditional if then else
syntax keyword pipeRepeat for in
syntax keyword pipeStatement return
syntax keyword pipeLogical and or not
syntax keyword pipeCast saturate
syntax keyword pipeBoolean true false
syntax keyword pipeType bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64

" A string has no escapes and ends on its line.
syntax match pipeError /".*$/
syntax match pipeString /"[^"]*"/
syntax keyword pipeTodo contained TODO FIXME XXX
syntax match pipeComment /\/\/.*$/ contains=pipeTodo,@Spell
syntax match pipeDocComment /\/\/\/\/\@!.*$/ contains=pipeTodo,@Spell
syntax region pipeComment start=/\/\*/ end=/\*\// contains=pipeTodo,@Spell

highlight default link pipeOperator Operator
highlight default link pipeUpdate Operator
highlight default link pipeError Error
highlight default link pipeNumber Number
highlight default link pipeFloat Float
highlight default link pipeFunction Function
highlight default link pipeReduction Keyword
highlight default link pipeImport Include
highlight default link pipeDeclaration Keyword
highlight default link pipeName Function
highlight default link pipeClause Keyword
highlight default link pipeConditional Conditional
highlight default link pipeRepeat Repeat
highlight default link pipeStatement Statement
highlight default link pipeLogical Operator
highlight default link pipeCast Keyword
highlight default link pipeBoolean Boolean
highlight default link pipeType Type
highlight default link pipeString String
highlight default link pipeTodo Todo
highlight default link pipeComment Comment
highlight default link pipeDocComment SpecialComment

let b:current_syntax = 'pipe'
