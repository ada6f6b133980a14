// Syntax of the .pipe language (docs/language.md). The meaning of what this accepts is the elaborator's business, with
// two exceptions that exist to be reported well: `c ? a : b`, and a definition with `==` or an updating operator.
parser grammar PipeParser;
options { tokenVocab = PipeLexer; }

file : (item | SEMICOLON)* EOF;
item : importItem | constant | function | pipeline;

importItem : IMPORT path=STRING;
constant   : CONST name ASSIGN expr;
function   : FN functionHead (ASSIGN expr | block);
functionHead : name LPAREN (parameter (COMMA parameter)*)? RPAREN;
parameter  : name (ASSIGN expr)?;
// The heads are rules of their own so that an error in one does not hide those in the body.
pipeline   : PIPELINE pipelineHead block;
pipelineHead : name LPAREN inputs=ports? RPAREN ARROW outputs=ports where?;
where      : WHERE exprs;
ports      : port (COMMA port)*;
port       : name COLON type extents? memoryOrder? (ASSIGN expr)?;
extents    : LBRACKET (extent (COMMA extent)*)? RBRACKET;
extent     : expr (ASSIGN preset=expr)?;
memoryOrder: ORDER LPAREN exprs RPAREN;
// A name here is no type; it is taken so that the message can say which type was meant.
type       : TYPE | NAME;
name       : NAME | MIN | MAX | ARGMIN | ARGMAX;
exprs      : expr (COMMA expr)*;

// ------------------------------------------------------------------------------------------------------- statements
block      : LBRACE (statement | SEMICOLON)* RBRACE;
statement  : definition | accumulate | letStatement | constant | forStatement | ifStatement | returnStatement;

definition : target dims? (COLON type)? definedBy expr;
definedBy  : ASSIGN | EQUAL | PLUS_ASSIGN | STAR_ASSIGN | MIN_ASSIGN | MAX_ASSIGN | MINUS_ASSIGN;
target     : name (LBRACKET expr RBRACKET)*;
dims       : LPAREN (dim (COMMA dim)*)? RPAREN;
dim        : DOTDOT name | name (IN range)?;
range      : lo=expr op=(DOTDOT | DOTDOT_EQUAL) hi=expr;
indexRange : name IN range;

letStatement    : LET binding;
forStatement    : FOR indexRange block;
ifStatement     : IF expr then=block (ELSE (otherwise=block | chained=ifStatement))?;
returnStatement : RETURN expr;

accumulate      : ACCUMULATE target dims COLON type ASSIGN expr accBlock;
accBlock        : LBRACE (accStatement | SEMICOLON)* RBRACE;
accStatement    : accUpdate | accFor | accIf | letStatement;
accUpdate       : target LPAREN exprs? RPAREN updatedBy expr;
updatedBy       : PLUS_ASSIGN | STAR_ASSIGN | MIN_ASSIGN | MAX_ASSIGN | MINUS_ASSIGN | ASSIGN;
accFor          : FOR indexRange (COMMA indexRange)* accBlock;
accIf           : IF expr then=accBlock (ELSE (otherwise=accBlock | chained=accIf))?;

// ------------------------------------------------------------------------------------------------------ expressions
// Tightest first. The body of a reduction reaches as far as `*` does, which is what its place in this list says.
expr : primary                                                              # primaryExpr
     | callee=expr LPAREN (argument (COMMA argument)*)? RPAREN              # callExpr
     | base=expr LBRACKET index=expr RBRACKET                               # indexExpr
     | op=(MINUS | PLUS | TILDE) operand=expr                               # unaryExpr
     | left=expr op=(STAR | SLASH | PERCENT) right=expr                     # binaryExpr
     | reduceOp LPAREN indexRange (COMMA indexRange)* RPAREN body=expr      # reduceExpr
     | left=expr op=(PLUS | MINUS) right=expr                               # binaryExpr
     | left=expr op=(SHIFT_LEFT | SHIFT_RIGHT) right=expr                   # binaryExpr
     | left=expr op=AMPERSAND right=expr                                    # binaryExpr
     | left=expr op=CARET right=expr                                        # binaryExpr
     | left=expr op=PIPE right=expr                                         # binaryExpr
     | left=expr op=(EQUAL | NOT_EQUAL | LESS | LESS_EQUAL | GREATER | GREATER_EQUAL) right=expr  # comparisonExpr
     | op=NOT operand=expr                                                  # unaryExpr
     | left=expr op=AND right=expr                                          # binaryExpr
     | left=expr op=OR right=expr                                           # binaryExpr
     | <assoc=right> cond=expr op=QUESTION then=expr COLON otherwise=expr   # ternaryExpr
     ;

primary : INT | FLOAT | TRUE | FALSE
        | name
        | LPAREN expr RPAREN
        | LBRACKET exprs RBRACKET
        | TYPE LPAREN expr RPAREN
        | SATURATE LESS type GREATER LPAREN expr RPAREN
        | ifExpr
        | letExpr
        ;

argument : DOTDOT name | expr;
reduceOp : SUM | PROD | MIN | MAX | ANY | ALL | ARGMIN | ARGMAX;
ifExpr   : IF cond=expr THEN then=expr (ELSE otherwise=expr)?;
letExpr  : LET binding (COMMA binding)* IN body=expr;
binding  : (name | LBRACKET name (COMMA name)* RBRACKET) ASSIGN expr;
