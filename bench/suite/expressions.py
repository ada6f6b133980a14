"""Reads what `pipec --emit pipeline` and `--emit domains` print: expressions as graphs, equal ones as one node."""
import re

TOKEN = re.compile(r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?)|(?P<name>[A-Za-z_]\w*(?:\.\w+|\[[^\]]*\])*)"
                   r"|(?P<op>\.\.|<<|>>|<=|>=|==|!=|\+=|\*=|[-+*/%<>=&|^~(){}\[\],:]))")
TYPES = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "float16": 2, "int32": 4, "uint32": 4, "float32": 4,
         "int64": 8, "uint64": 8, "float64": 8}  # bytes
FUNCTIONS = set("min max abs sqrt rsqrt exp exp2 log log2 pow sin cos tan asin acos atan atan2 sinh cosh tanh hypot "
                "floor ceil round trunc isnan".split())
PLACES = {"argmin", "argmax"}
REDUCTIONS = set("sum prod min max any all".split()) | PLACES
# Binary operators by level, the loosest first, as docs/language.md has them.
LEVELS = [("or",), ("and",), ("not",), ("<", "<=", ">", ">=", "==", "!="), ("|",), ("^",), ("&",), ("<<", ">>"),
          ("+", "-"), ("*", "/", "%")]
NOT, PRODUCT = 2, 9


class Node:
    """kind: const, var, size, param, unary, binary, call, cast, select, read, reduce. `free`: the variables that it
    depends on. `place`: made of variables and sizes alone, in integers."""
    __slots__ = ("id", "kind", "op", "type", "children", "free", "place", "ranges")


def is_float(type_name):
    return type_name.startswith("float")


def common(a, b):
    if is_float(a) or is_float(b):
        return max((t for t in (a, b) if is_float(t)), key=lambda t: TYPES[t])
    return "int64" if 8 in (TYPES[a], TYPES[b]) else "int32"


class Graph:
    """The nodes of one stage, children before parents."""

    def __init__(self, types, sizes, params):
        self.types, self.sizes, self.params = types, sizes, params  # of what is read; names; types by name
        self.nodes, self.known = [], {}

    def node(self, kind, op, type_name, children=(), ranges=()):
        key = (kind, op, type_name, tuple(c.id for c in children), tuple((v.id, a.id, b.id) for v, a, b in ranges))
        if key in self.known:
            return self.known[key]
        n = Node()
        n.id, n.kind, n.op, n.type = len(self.nodes), kind, op, type_name
        n.children, n.ranges = list(children), list(ranges)
        n.free = frozenset().union(*(c.free for c in children), *(a.free | b.free for _, a, b in ranges))
        if kind == "var":
            n.free |= {op}
        n.free -= {v.op for v, _, _ in ranges}
        n.place = (not is_float(type_name) and kind not in ("read", "reduce", "param", "call") and
                   all(c.place for c in children))
        self.nodes.append(n)
        self.known[key] = n
        return n


class Parser:
    def __init__(self, graph, text, variables):
        self.graph, self.variables, self.shared = graph, dict(variables), {}
        self.tokens, at = [], 0
        text = text.rstrip()
        while at < len(text):
            match = TOKEN.match(text, at)
            if not match:
                raise ValueError(f"cannot read `{text[at:at + 40]}`")
            self.tokens.append((match.lastgroup, match.group(match.lastgroup)))
            at = match.end()
        self.at = 0

    def peek(self):
        return self.tokens[self.at][1] if self.at < len(self.tokens) else None

    def take(self, expected=None):
        kind, text = self.tokens[self.at]
        if expected is not None and text != expected:
            after = " ".join(t for _, t in self.tokens[self.at:self.at + 8])
            raise ValueError(f"`{expected}` expected before `{after}`")
        self.at += 1
        return kind, text

    def expression(self, level=0):
        word = self.peek()
        if word == "let":
            return self.let()
        if word == "if":
            return self.select()
        if level == len(LEVELS):
            return self.unary()
        if level == NOT:
            if word != "not":
                return self.expression(level + 1)
            self.take()
            return self.graph.node("unary", "not", "bool", [self.expression(NOT)])
        left = self.expression(level + 1)
        while self.peek() in LEVELS[level]:
            op = self.take()[1]
            left = self.binary(op, left, self.expression(level + 1))
        return left

    def binary(self, op, a, b):
        logical = op in ("and", "or") or op in LEVELS[3]
        shift = op in ("<<", ">>")
        return self.graph.node("binary", op, "bool" if logical else a.type if shift else common(a.type, b.type), [a, b])

    def let(self):
        self.take("let")
        name = self.take()[1]
        self.take("=")
        value = self.expression()
        self.take("in")
        return self.scoped({name: value}, self.expression)

    def scoped(self, names, read):
        before = self.variables
        self.variables = {**before, **names}
        result = read()
        self.variables = before
        return result

    def select(self):
        self.take("if")
        parts = [self.expression()]
        self.take("then")
        parts.append(self.expression())
        if self.peek() == "else":
            self.take()
            parts.append(self.expression())
        a, b = parts[1], parts[-1]
        return self.graph.node("select", "if", a.type if a.type == b.type else common(a.type, b.type), parts)

    def unary(self):
        if self.peek() in ("-", "~", "+"):
            op = self.take()[1]
            a = self.unary()
            if a.kind == "const" and op == "-":
                return self.graph.node("const", -a.op, a.type)
            return self.graph.node("unary", op, a.type, [a])
        return self.atom()

    def atom(self):
        kind, word = self.take()
        if kind == "number":
            real = "." in word or "e" in word
            return self.graph.node("const", float(word) if real else int(word), "float32" if real else "int32")
        if word == "(":
            result = self.expression()
            self.take(")")
            while self.peek() == "[":  # one of the variables of a place, which are found together
                self.take()
                self.take()
                self.take("]")
            return result
        if word == "{":
            return self.shared_node()
        if word in ("true", "false"):
            return self.graph.node("const", int(word == "true"), "bool")
        if word in ("inf", "nan"):
            return self.graph.node("const", float(word), "float32")
        if word in REDUCTIONS and self.peek() == "(" and self.tokens[self.at + 2][1] == "in":
            return self.reduction(word)
        if word == "saturate":
            self.take("<")
            to = self.take()[1]
            self.take(">")
            return self.graph.node("cast", "saturate", to, self.arguments())
        if self.peek() == "(":
            return self.call(word, self.arguments())
        if word in self.variables:
            return self.variables[word]
        if word in self.graph.sizes:
            return self.graph.node("size", word, "int32")
        return self.graph.node("param", word, self.graph.params[word])

    def shared_node(self):
        number = self.take()[1]
        if self.peek() == ":":
            self.take()
            self.shared[number] = self.expression()
        self.take("}")
        return self.shared[number]

    def call(self, name, arguments):
        if name in TYPES:
            if arguments[0].kind == "const":
                value = arguments[0].op
                return self.graph.node("const", float(value) if is_float(name) else value, name)
            return self.graph.node("cast", "cast", name, arguments)
        if name in FUNCTIONS:
            types = {a.type for a in arguments}
            of = types.pop() if len(types) == 1 else common(arguments[0].type, arguments[1].type)
            return self.graph.node("call", name, of, arguments) if name not in ("min", "max") else \
                self.graph.node("binary", name, of, arguments)
        return self.graph.node("read", name, self.graph.types[name], arguments)

    def arguments(self):
        self.take("(")
        result = []
        while self.peek() != ")":
            result.append(self.expression())
            if self.peek() == ",":
                self.take()
        self.take(")")
        return result

    def ranges(self):
        """`i in a..b, ...`: nodes of the variables and their bounds; bounds may use the variables before them."""
        result = []
        while True:
            name = self.take()[1]
            self.take("in")
            low = self.expression(8)
            self.take("..")
            high = self.expression(8)
            variable = self.graph.node("var", f"{name}#{low.id}:{high.id}", "int32")
            variable.free |= low.free | high.free
            result.append((variable, low, high))
            self.variables = {**self.variables, name: variable}
            if self.peek() != ",":
                return result
            self.take()

    def reduction(self, op):
        before = self.variables
        self.take("(")
        ranges = self.ranges()
        self.take(")")
        body = self.expression(PRODUCT)
        self.variables = before
        kind = "bool" if op in ("any", "all") else "int32" if op in PLACES else body.type if op in ("min", "max") else common(body.type, "int32")
        return self.graph.node("reduce", op, kind, [body], ranges)
