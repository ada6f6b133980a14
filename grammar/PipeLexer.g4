// Tokens of the .pipe language (docs/language.md, "Lexical").
//
// The lexer reads bytes, not code points, so that every position is a byte offset. It never fails: what no rule of the
// language matches becomes a token of one of the rules at the end, which the parser's front (parse_tokens.cpp) reports.
lexer grammar PipeLexer;

// Comments are kept on the hidden channel: the documentation of functions and pipelines is found there.
DOC_COMMENT          : '///' (~[/\r\n] ~[\r\n]*)? -> channel(HIDDEN);
LINE_COMMENT         : '//' ~[\r\n]* -> channel(HIDDEN);
BLOCK_COMMENT        : '/*' (~'*' | '*'+ ~[*/])* '*'+ '/' -> channel(HIDDEN);
WHITESPACE           : [ \t\r\n\f]+ -> skip;

IMPORT     : 'import';
CONST      : 'const';
FN         : 'fn';
PIPELINE   : 'pipeline';
ACCUMULATE : 'accumulate';
WHERE      : 'where';
LET        : 'let';
IN         : 'in';
FOR        : 'for';
IF         : 'if';
THEN       : 'then';
ELSE       : 'else';
AND        : 'and';
OR         : 'or';
NOT        : 'not';
RETURN     : 'return';
TRUE       : 'true';
FALSE      : 'false';
ORDER      : 'order';
SUM        : 'sum';
PROD       : 'prod';
ANY        : 'any';
ALL        : 'all';
MIN        : 'min';       // an ordinary name too: see `name` in the parser
MAX        : 'max';
ARGMIN     : 'argmin';
ARGMAX     : 'argmax';
SATURATE   : 'saturate';
TYPE       : 'bool' | 'int8' | 'int16' | 'int32' | 'int64' | 'uint8' | 'uint16' | 'uint32' | 'uint64'
           | 'float16' | 'float32' | 'float64';

NAME   : [A-Za-z_] [A-Za-z0-9_]*;
// A digit stands on both sides of a float's dot, so `0..4` is three tokens.
INT    : DIGITS | '0' [xX] [0-9A-Fa-f] ('_'? [0-9A-Fa-f])* | '0' [bB] [01] ('_'? [01])*;
FLOAT  : DIGITS '.' DIGITS EXPONENT? | DIGITS EXPONENT;
STRING : '"' ~["\r\n]* '"';
fragment DIGITS   : [0-9] ('_'? [0-9])*;
fragment EXPONENT : [eE] [+-]? DIGITS;

LPAREN : '('; RPAREN : ')'; LBRACKET : '['; RBRACKET : ']'; LBRACE : '{'; RBRACE : '}';
COMMA : ','; SEMICOLON : ';'; COLON : ':'; ARROW : '->'; DOTDOT : '..'; DOTDOT_EQUAL : '..=';
ASSIGN : '='; PLUS_ASSIGN : '+='; STAR_ASSIGN : '*='; MIN_ASSIGN : 'min='; MAX_ASSIGN : 'max=';
EQUAL : '=='; NOT_EQUAL : '!='; LESS_EQUAL : '<='; GREATER_EQUAL : '>='; LESS : '<'; GREATER : '>';
SHIFT_LEFT : '<<'; SHIFT_RIGHT : '>>';
PLUS : '+'; MINUS : '-'; STAR : '*'; SLASH : '/'; PERCENT : '%';
AMPERSAND : '&'; PIPE : '|'; CARET : '^'; TILDE : '~';

// ------------------------------------------------------------------------------- not of the language, each reported
AND_AND              : '&&';
OR_OR                : '||';
BANG                 : '!';
STAR_STAR            : '**';
QUESTION             : '?';       // parsed, so that a whole `c ? a : b` can be replaced
DOT                  : '.';
MINUS_ASSIGN         : '-=' | '/=' | '%=' | '&=' | '|=' | '^=' | '<<=' | '>>=';
INVALID_NUMBER       : ([0-9] [0-9A-Za-z_]* ('.' [0-9] [0-9A-Za-z_]*)? | FLOAT [A-Za-z_] [0-9A-Za-z_]*);
UNTERMINATED_STRING  : '"' ~["\r\n]*;
UNTERMINATED_COMMENT : '/*' (~'*' | '*'+ ~[*/])* '*'*;
UNKNOWN_CHARACTER    : [\u00C2-\u00F4] [\u0080-\u00BF]+ | .;
