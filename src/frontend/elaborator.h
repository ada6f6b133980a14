// The state of elaboration and its parts. One Elaborator makes one pipeline; the scopes of files, with the constants
// that were already evaluated, are shared between the pipelines of a program.
//
//   elaborate.cpp              entry; ports, sizes, where
//   elaborate_bounds.cpp       extents and explicit ranges
//   elaborate_scopes.cpp       files, scopes, look-up, misspelt names
//   elaborate_blocks.cpp       statements of a block: declarations, compile-time for and if
//   elaborate_scan.cpp         stages that read themselves, and cycles
//   elaborate_stages.cpp       definitions: stages, generated stages, `..k`, lets and consts
//   elaborate_accumulate.cpp   accumulate
//   elaborate_expr.cpp         expressions
//   elaborate_calls.cpp        reads, expression functions, stage functions
//   elaborate_builtins.cpp     math functions, rank(), lower(), ...
//   elaborate_reduce.cpp       reductions
//   elaborate_convert.cpp      untyped constants, operators' types, conversions
//   elaborate_finish.cpp       folding, unused stages, warnings
//   elaborate_names.cpp        the table of names for editors: scopes and look-up without evaluation
//
// Definitions are elaborated on demand, each once: unvisited, in progress (met again: a cycle), done.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "frontend/diagnostics.h"
#include "frontend/elaborate.h"
#include "frontend/elaborate_values.h"
#include "frontend/names.h"

namespace pipec::elab {

/// A body that stages belong to: a pipeline's, or one call of a stage function.
struct Instance {
    std::string prefix;              ///< of its stages' names: "" or "sxx."
    std::vector<SourceRange> calls;  ///< that led here, innermost first
    std::vector<std::string> callees;
    Scope* body = nullptr;
    std::vector<Symbol*> definitions;  ///< in the order of the text, loops expanded: chains are then short
    const ast::Return* result = nullptr;
    SourceRange result_range;
    bool broken = false;  ///< a second return or the like was reported
};

struct Symbol;

/// A name of `let [a, b] = e` in a block: which element it is of `e`, which is a symbol that no scope has.
struct LetElement {
    Symbol* elements;
    const ast::LetBinding* binding;
};

/// A name and what it stands for.
struct Symbol {
    enum class Kind : std::uint8_t {
        Value,
        Const,
        Let,
        Elements,
        Stage,
        Accumulate,
        Array,
        Input,
        Parameter,
        Size,
        Function
    };
    enum class State : std::uint8_t { Unvisited, InProgress, Done };

    std::string name;
    SourceRange range;
    Kind kind = Kind::Value;
    State state = State::Done;
    Value value;
    Scope* scope = nullptr;  ///< where the names of its definition are looked up
    Instance* instance = nullptr;
    const ast::Expr* expr = nullptr;    ///< Const and Let: the value
    std::optional<LetElement> element;  ///< Let: a name in brackets
    const ast::Definition* stage = nullptr;
    const ast::Accumulate* accumulate = nullptr;
    const ast::Port* port = nullptr;
    /// Stages in progress: what reads of the stage itself are reads of, where it may have some.
    std::optional<Image> self;
    int output = -1;                                        ///< index of the output that it is
    int index = -1;                                         ///< of an input, parameter or size
    std::string full_name;                                  ///< stages: unique in the pipeline
    std::map<std::vector<std::int64_t>, Symbol*> elements;  ///< Array
    /// A scalar that is evaluated once, where it is bound: its uses are this variable.
    ir::VarId let = -1;
    bool used = false;
};

struct Scope {
    enum class Kind : std::uint8_t { File, Body, Block, Expression };
    Kind kind = Kind::Expression;
    Scope* parent = nullptr;
    std::map<std::string, Symbol*, std::less<>> names;
    Instance* instance = nullptr;
    std::string suffix;  ///< of stages declared in an iteration of a loop: "[3]"
    const ast::File* file = nullptr;
    std::vector<Scope*> imports;  ///< File: the scopes of the files it imports
};

/// For each dimension of an image the first and last index, null where they are not stated: what lower() and upper()
/// tell.
using Bounds = std::vector<std::pair<ir::Expr, ir::Expr>>;

/// The point of a whole-image expression: all images in it are read here. Its rank is that of the first image.
struct Point {
    std::vector<ir::VarId> vars;
    std::optional<std::size_t> rank;
    SourceRange first;             ///< the image that set the rank
    std::optional<Bounds> bounds;  ///< common to all images that are read
    /// Of the expression around this one: a name that is bound out there stands for its whole image in here.
    const Point* outer = nullptr;
};

/// Where an expression stands.
struct Env {
    Scope* scope;
    const std::string* owner = nullptr;  ///< name of the definition, for the names of stages made in it
    Point* point = nullptr;              ///< set in whole-image expressions
    std::map<std::string, std::vector<ir::VarId>>* splices = nullptr;
    /// What the value of the expression becomes, where that is known: untyped branches take this type. Only `if`, the
    /// body of a `let` and calls of expression functions hand it on to a part of theirs.
    std::optional<ir::Type> wanted = std::nullopt;
    /// Set in the terms of a reduction that is being unrolled: the most terms that one in it has been unrolled to.
    std::size_t* unrolled = nullptr;

    [[nodiscard]] Env wanting(std::optional<ir::Type> type) const {
        Env result = *this;
        result.wanted = type;
        return result;
    }
};

/// The scopes of all files of a program; symbols and scopes live as long as this does.
class Files {
public:
    Files(const Program& program, const SourceManager& sources);

    Scope* main() const { return main_; }
    Scope* scope_of(FileId file) const;
    Scope* new_scope(Scope::Kind kind, Scope* parent);
    Symbol* new_symbol(std::string name, SourceRange range, Symbol::Kind kind);
    [[nodiscard]] bool is_standard_library(FileId file) const;
    /// The files of the standard library with the names that each defines; parsed when first asked for.
    const std::vector<std::pair<std::string, std::vector<std::string>>>& library();

    /// (id, place) of every report, so that what many instances have in common is said once.
    using Place = std::tuple<std::string_view, FileId, std::uint32_t, std::uint32_t>;
    std::set<Place> reported;
    /// What is learnt about names, where somebody asks.
    ElaborationRecord* record = nullptr;
    const Program& program;
    const SourceManager& sources;

private:
    Scope* main_ = nullptr;
    std::map<FileId, Scope*> scopes_;
    std::deque<Scope> scope_storage_;
    std::deque<Symbol> symbol_storage_;
    std::vector<std::pair<std::string, std::vector<std::string>>> library_;
};

/// Names of index variables for messages: `c, y, x`.
std::string example_indices(std::size_t rank);

class Elaborator {
public:
    Elaborator(Files& files, Diagnostics& diags) : files_(files), diags_(diags) {}

    /// None when the pipeline has an error (which is then reported).
    std::optional<ir::Pipeline> run(const ast::Pipeline& source);

    /// Declarations of a file that are wrong in themselves, such as two with one name.
    void check_file(Scope* file);

    static const std::vector<std::string>& builtin_names();

    static constexpr int kMaxDepth = 5000;          ///< of nested evaluation, through expressions, calls and stages
    static constexpr long kMaxSteps = 300'000;      ///< expressions evaluated in one pipeline
    static constexpr int kMaxCallDepth = 64;        ///< of stage and expression functions
    static constexpr int kMaxIterations = 100'000;  ///< of compile-time loops, in all
    static constexpr std::size_t kMaxStages = 10'000;
    static constexpr std::size_t kMaxExpressionDepth = 2600;
    static constexpr std::size_t kMaxBoundSize = 1000;  ///< operators of an extent or explicit range
    static constexpr int kUnrollAlways = 64;            ///< terms of a reduction, with those of reductions in it
    static constexpr std::size_t kUnrollNodes = 640;    ///< of all terms
    static constexpr std::size_t kUnrollLoops = 4;      ///< terms that have loops of their own
    static constexpr int kUnrollMost = 4096;            ///< points of one that has to be unrolled
    static constexpr std::int64_t kLongRange = 32;      ///< points of a first range in whose terms others are unrolled

private:
    friend class NameCollector;

    // ---------------------------------------------------------------------------------------------- reporting
    /// A report that closes with the calls that led to where it is made.
    class Report {
    public:
        /// `told`: the call that the message stands at, which need not be told again.
        Report(Diagnostics::Builder builder, const Instance* instance, SourceRange told)
            : builder_(builder), instance_(instance), told_(told) {}
        Report(const Report&) = delete;
        Report& operator=(const Report&) = delete;
        ~Report();
        Report& note(SourceRange range, std::string message) { return builder_.note(range, std::move(message)), *this; }
        Report& note(std::string message) { return builder_.note(std::move(message)), *this; }
        Report& suggest(SourceRange range, std::string text) { return builder_.suggest(range, std::move(text)), *this; }

    private:
        Diagnostics::Builder builder_;
        const Instance* instance_;
        SourceRange told_;
    };

    /// Of what a message at `range` is told once: a wrong argument goes wrong at many places of a function of the
    /// standard library, so there of the call that the user wrote.
    [[nodiscard]] SourceRange told_of(SourceRange range) const;
    template <class... Args>
    static Files::Place place_of(const DiagnosticKind<Args...>& kind, SourceRange range) {
        return {kind.info.id, range.file, range.begin, range.end};
    }
    template <class... Args>
    Report report(const DiagnosticKind<Args...>& kind, SourceRange range, const std::type_identity_t<Args>&... args) {
        if (kind.info.severity == Severity::Error) failed_ = true;
        const SourceRange told = told_of(range);
        if (!files_.reported.insert(place_of(kind, told)).second) {
            return {Diagnostics::Builder(nullptr), nullptr, {}};
        }
        // Of a function of the standard library, what the user wrote comes first.
        Diagnostics::Builder builder = diags_.report(kind, told, args...);
        if (told == range) return {builder, instance_, {}};
        builder.note(range, "this place of the standard library asks for it");
        return {builder, instance_, told};
    }
    std::string text(SourceRange range) const { return std::string(files_.sources.text(range)); }

    // ---------------------------------------------------------------------------------------------- ports
    void declare_ports(const ast::Pipeline& source);
    void collect_sizes(const ast::Expr& e);
    void report_undefined_outputs();
    /// Gives sizes the defaults that stand in the extents; the first `sizes_of_inputs` sizes can have none.
    void default_extents(const ast::Port& port, std::size_t sizes_of_inputs);
    ir::Expr size_expr(const ast::Expr& e, const Env& env, const char* what);
    /// An expression over sizes as an extent or explicit range; null after an error.
    ir::Expr bound(const ir::Expr& e, SourceRange range, const char* what);
    /// A bound with the definitions of stages that no data decide in the places of what is read of them.
    ir::Expr without_reads_of_places(const ir::Expr& e);
    std::vector<int> memory_order(const ast::Port& port);
    void scalar_parameter(const ast::Port& port);
    void where(const ast::Pipeline& source);

    // ---------------------------------------------------------------------------------------------- scopes
    Symbol* declare(Scope* scope, const ast::Name& name, Symbol::Kind kind);
    /// Reports a name that hides one of an enclosing body.
    void check_hiding(const Scope* scope, const ast::Name& name);
    /// `arguments`: how many a call of the name has. Of imported functions with one name it tells which is meant.
    Symbol* find(const Scope* scope, const std::string& name, SourceRange range,
                 std::optional<std::size_t> arguments = std::nullopt);
    Symbol* look_up(const Scope* scope, const std::string& name, SourceRange range,
                    std::optional<std::size_t> arguments);
    /// Notes for editors that `name`, which stands at `range`, means `symbol`, and what the value of a symbol is.
    void record_use(const std::string& name, SourceRange range, const Symbol& symbol);
    void record_value(const Symbol& symbol);
    /// Warns where a function of the standard library that works on planes, which was just entered, is given an image
    /// with the channels last.
    void note_interleaved(const ast::Fn& fn, const ast::Block& body, const Scope& scope);
    /// Says what a name of another language is here. False where it is none.
    bool foreign_name(Report& r, const Scope* scope, const std::string& name, SourceRange range);
    void unknown_name(const Scope* scope, const std::string& name, SourceRange range);
    void list_names(Report& r, const std::string& name, SourceRange range) const;
    /// True where definitions of the body around have this index variable.
    bool variable_elsewhere(const Scope* scope, const std::string& name) const;
    Symbol* bind(Scope* scope, const ast::Name& name, Value value);

    // ---------------------------------------------------------------------------------------------- blocks
    void declare_block(const ast::Block& block, Scope* scope);
    Symbol* declare_definition(const ast::Definition& d, Scope* scope);
    Symbol* declare_accumulate(const ast::Accumulate& a, Scope* scope);
    Symbol* declare_stage(const ast::Name& name, const std::vector<ast::Expr>& indices, Scope* scope,
                          Symbol::Kind kind);
    void expand_for(const ast::For& loop, Scope* scope);
    void expand_if(const ast::IfStatement& choice, Scope* scope);
    void elaborate_definitions(Instance& instance);
    std::optional<std::pair<std::int64_t, std::int64_t>> constant_range(const ast::Range& range, const Env& env);

    // ---------------------------------------------------------------------------------------------- definitions
    /// The symbol's value, elaborated if it was not yet; Poison where it is wrong or part of a cycle.
    Value demand(Symbol* symbol, SourceRange use);
    void report_cycle(Symbol* symbol, SourceRange use);
    void report_scan_of_table(const Symbol& symbol, SourceRange range);
    /// True where a scalar, or one in a table, reads the stage that is being defined.
    bool reads_itself(const Value& value);
    void note_scan(Report& report, const Symbol& symbol, SourceRange use);
    [[nodiscard]] std::size_t scanned_dimension(const ast::Expr& value, SourceRange use,
                                                const std::vector<std::string>& names) const;
    void define_const(Symbol& symbol);
    void define_let(Symbol& symbol);
    /// The table that the names in brackets of a `let` are elements of; whole-image expressions become stages.
    void define_elements(Symbol& symbol);
    void name_element(Symbol& symbol);
    void define_stage(Symbol& symbol);
    void define_pointwise(Symbol& symbol, const Env& env);
    void define_accumulate(Symbol& symbol);
    void cover_output(int output, std::vector<ir::Dimension>& dims) const;
    bool dimensions(const std::vector<ast::DimPattern>& patterns, const ast::Expr* value, Symbol& symbol, Env& env,
                    std::vector<ir::Dimension>& dims);
    std::optional<std::size_t> splice_length(const std::string& name, const ast::Expr& e, const Env& env, bool& broken);
    /// Gives an output's stage its shape as explicit ranges. False when the stage states others.
    bool shape_output(int output, std::vector<ir::Dimension>& dims);
    void store_stage(Symbol& symbol, ir::Stage stage, const Value& value, bool ok);
    void finish_stage(Symbol& symbol, ir::Stage stage);
    /// Lets the definition of a stage with a type, and a range in some dimension, read the stage itself.
    void allow_scan(Symbol& symbol, const std::vector<ir::Dimension>& dims, std::optional<ir::Type> type);
    /// Makes a stage that reads itself a scan, and gives it the number that it is about to get. False after an error.
    bool make_scan(ir::Stage& stage);
    Value add_stage(ir::Stage stage);
    static Bounds bounds_of(const std::vector<ir::Dimension>& dims);
    Bounds bounds_of(const Image& image) const;
    const ir::Stage& stage_of(const Image& image) const;
    void rename_stage(const Image& image, const std::string& name);
    /// Names resolve, so that evaluating `e` early reports nothing that is not wrong anyway.
    bool names_known(const ast::Expr& e, const Scope* scope);
    /// Makes a stage of a scalar over `point`.
    Value generate_stage(const ir::Expr& value, const Point& point, const std::string& name, SourceRange range);
    std::string unique_name(std::string name);
    struct UpdateWalk;
    void walk_updates(const ast::AccBlock& block, UpdateWalk& walk);
    void add_update(const ast::AccStatement& statement, UpdateWalk& walk);

    // ---------------------------------------------------------------------------------------------- expressions
    Value eval(const ast::Expr& e, const Env& env);
    Value eval_node(const ast::Expr& e, const Env& env);
    Value eval_name(const std::string& name, SourceRange range, const Env& env,
                    std::optional<std::size_t> arguments = std::nullopt);
    Value use(Symbol* symbol, SourceRange range);
    Value eval_table(const ast::TableLiteral& table, const Env& env);
    Value array_element(Array array, std::int64_t index, SourceRange range);
    Value eval_index(const ast::Expr& e, const ast::Index& index, const Env& env);
    Value eval_comparison(const ast::Expr& e, const ast::Comparison& comparison, const Env& env);
    Value eval_if(const ast::Expr& e, const ast::Expr& cond, const ast::Expr& then, const ast::Expr& otherwise,
                  const Env& env);
    /// `if condition then branches[0] else branches[1]`; of tables, element by element. `at`: where the condition is.
    Value choose(const Value& condition, SourceRange at, std::vector<Value> branches,
                 const std::vector<SourceRange>& ranges, SourceRange range, const Env& env);
    /// The same of scalars, where the condition is not known when the program is compiled.
    Value choose_number(const ir::Expr& condition, std::vector<Value> branches, const std::vector<SourceRange>& ranges,
                        SourceRange range, const Env& env);
    /// Gives branches that are untyped constants the wanted type, or bool beside a bool. False after an error.
    bool adapt_branches(std::vector<Value>& branches, const std::vector<SourceRange>& ranges, const Env& env);
    Value eval_let(const ast::Let& let, const Env& env);
    Value eval_logical(const ast::Expr& e, const ast::Binary& binary, const Env& env);
    /// An operand of an operator: images become reads at the point; functions and arrays are errors.
    Value operand(Value value, SourceRange range, const Env& env);
    Value eval_operand(const ast::Expr& e, const Env& env) { return operand(eval(e, env), e->range, env); }
    /// An operand as a typed scalar, untyped constants by their default type; null after an error.
    ir::Expr scalar(const ast::Expr& e, const Env& env);
    ir::Expr condition(const ast::Expr& e, const Env& env);
    ir::Expr condition_of(const Value& value, SourceRange range);
    Value index_value(const ast::Expr& e, const Env& env);
    /// A place in an image, an Int32; null after an error. An index of a wider integer type becomes the nearest int32:
    /// what lies in an image stays, and the proofs refuse the rest. `read`: the call whose index it is.
    ir::Expr index_expr(const ast::Expr& e, const Env& env, const ast::Call* read = nullptr);
    /// An end of a range, an Int32; null after an error.
    ir::Expr bound_expr(const ast::Expr& e, const Env& env);

    // ---------------------------------------------------------------------------------------------- tables
    /// The element that a name in brackets stands for; poison after an error.
    Value element_of(const Value& whole, const ast::LetBinding& binding);
    /// A table of what `f` makes of the elements that stand at one place of the tables; poison after an error.
    Value map_rows(const std::vector<Value>& tables, const std::vector<SourceRange>& ranges, SourceRange range,
                   const std::function<Value(std::vector<Value>)>& f);
    /// `f` of values that are no tables. Where some are, a table of what `f` makes of the elements at one place: a
    /// value that is no table takes part in all of them. Poison, with a report, for tables of different lengths.
    Value element_by_element(std::vector<Value> values, const std::vector<SourceRange>& ranges, SourceRange range,
                             const std::function<Value(std::vector<Value>)>& f);
    /// Stages for the elements of a table, with dimensions of their own; poison after an error.
    Value table_of_stages(Symbol& symbol, const std::vector<ir::Dimension>& dims, const Value& value,
                          const std::string& name);

    // ---------------------------------------------------------------------------------------------- reductions
    Value eval_reduce(const ast::Expr& e, const ast::Reduce& reduce, const Env& env);
    /// Warns of `-r..r`, which is lopsided.
    void note_half_open(const ast::Range& range);
    /// Warns of a sum of integers whose terms are divided by something that is the same for all of them.
    void note_divided_terms(const ast::Expr& e, const ast::Reduce& reduce, const std::set<std::string>& names,
                            const Value& result);
    Value reduce_loop(const ast::Expr& e, const ast::Reduce& reduce, const Env& env);
    /// As a loop over the first variable with the others unrolled in each term; none where it is not of that kind.
    std::optional<Value> reduce_partly_unrolled(const ast::Expr& e, const ast::Reduce& reduce, const Env& env);
    /// Reduces a scalar, or each element of a table.
    Value reduce_values(const ast::Expr& e, const ast::Reduce& reduce, const std::vector<ir::Range>& ranges,
                        const Value& value);
    Value reduce_value(const ast::Expr& e, const ast::Reduce& reduce, const std::vector<ir::Range>& ranges,
                       const Value& value);
    /// None where that makes more than `most` terms, those of reductions in it, which come first, included.
    std::optional<Value> reduce_unrolled(const ast::Expr& e, const ast::Reduce& reduce,
                                         const std::vector<std::vector<std::int64_t>>& points, const Env& env,
                                         std::size_t most);
    Value fold_values(const ast::Expr& e, const ast::Reduce& reduce, std::vector<Value> values);
    /// The variables' values at the best of the terms: a scalar, or a table for several variables.
    Value best_place(const ast::Expr& e, const ast::Reduce& reduce, std::vector<Value> values,
                     const std::vector<std::vector<std::int64_t>>& points);
    /// Points of the ranges if all bounds are constants; none, with `too_many`, for more than kUnrollMost.
    std::optional<std::vector<std::vector<std::int64_t>>> constant_points(const ast::Reduce& reduce, const Env& env,
                                                                          bool& too_many);
    Env with_constant(const Env& env, const ast::Name& name, std::int64_t value);
    /// The range of a run-time loop, its variable bound in a new scope of `env`.
    std::optional<ir::Range> loop_range(const ast::IndexRange& r, Env& env);
    /// The body of `any` and `all`.
    ir::Expr truth(const Value& value, SourceRange range);
    /// True when the body takes elements of tables or stage arrays by these variables, also inside of functions;
    /// `bodies` are those of the functions that were looked into, each with the parameters that depend on them.
    bool indexes_with(const ast::Expr& e, const std::set<std::string>& names, const Scope* scope,
                      std::set<std::pair<const ast::ExprNode*, std::set<std::string>>>& bodies);

    // ---------------------------------------------------------------------------------------------- calls
    Value eval_call(const ast::Expr& e, const ast::Call& call, const Env& env);
    Value read_image(const ast::Expr& e, const Image& image, const ast::Call& call, const Env& env);
    /// The arguments of a read; none after an error.
    /// A stage that is called like a function of values, as such a function: where nothing is read at its points.
    std::optional<std::string> as_function(const ast::Call& read, const Env& env);
    /// Reports a float index of such a stage.
    bool says_as_function(const ast::Call& read, const Value& index, SourceRange range, const Env& env);
    std::optional<std::vector<ir::Expr>> read_indices(const ast::Call& call, const Env& env);
    Value read_at(const ast::Expr& e, const Image& image, const ast::Call& call, std::vector<ir::Expr> indices);
    /// The image read at the point of a whole-image expression.
    Value read_at_point(const Image& image, SourceRange range, Point& point);
    /// Makes the point's index variables, named as those of the stage `like` if it is one.
    void set_rank(Point& point, std::size_t rank, const Image* like);
    Value call_function(const ast::Expr& e, const Function& function, const ast::Call& call, const Env& env);
    Value call_expression_function(const ast::Expr& e, const Function& function, const ast::Expr& body,
                                   const ast::Call& call, const Env& env);
    Value call_stage_function(const ast::Expr& e, const Function& function, const ast::Block& body,
                              const ast::Call& call, const Env& env);
    Value stage_argument(const ast::Expr& arg, const std::string& name, const Env& env);
    /// What is called or asked for its rank: as a stage function's argument, but a scalar of no image stays as it is.
    Value whole_image(const ast::Expr& e, const Env& env);
    /// True for a scalar that varies with the point `innermost`, or with those around it, and with nothing else.
    bool is_over_points(const ir::Expr& value, const Point* innermost);
    /// The stage of a scalar over the points `point` and those around it; poison after an error.
    Value image_of(const ir::Expr& value, Point point, const std::string& name, SourceRange range);
    /// Expands the lets that `e` uses but does not contain, so that it can stand anywhere.
    ir::Expr close_over_lets(ir::Expr e);
    /// `body` with the arguments and lets that it uses bound around it.
    Value wrap_lets(Value body, const std::vector<Symbol*>& symbols);
    /// Makes `symbol` stand for a scalar that is evaluated once, unless it is trivial.
    void bind_once(Symbol& symbol);

    // ---------------------------------------------------------------------------------------------- builtins
    Value call_builtin(const ast::Expr& e, const std::string& name, const ast::Call& call, const Env& env);
    /// A function of numbers. `at`: where the arguments stand that `values` are of; `range`: the call.
    Value call_numeric(const ast::Expr& e, const std::string& name, const ast::Call& call, const Env& env);
    /// Of `max(t)`: reports how the greatest element of a table is written. True where it is no table, nor wrong.
    bool says_table_extremum(const ast::Expr& e, const std::string& name, const ast::Expr& arg, const Env& env);
    Value call_math(ir::Builtin fn, const std::vector<Value>& values, const std::vector<SourceRange>& at,
                    SourceRange range);
    Value call_min_max(ir::BinaryOp op, std::vector<Value> values, const std::vector<SourceRange>& at,
                       SourceRange range);
    void check_clamp_order(const ast::Call& call);
    Value call_clamp(std::vector<Value> values, const std::vector<SourceRange>& at, SourceRange range);
    Value call_lerp(const std::vector<Value>& values, const std::vector<SourceRange>& at, SourceRange range);
    Value call_fract(const Value& value, SourceRange at, SourceRange range);
    Value call_abs(const Value& value, SourceRange at, SourceRange range);
    Value call_bounds(const ast::Expr& e, const std::string& name, const ast::Call& call, const Env& env);
    /// How `stage` gets a border that is known, for a message.
    std::string stated_range(const ir::Stage& stage) const;
    Value call_rank(const ast::Call& call, const Env& env);
    Value call_length(const ast::Call& call, const Env& env);
    Value image_argument(const ast::Expr& arg, const Env& env);
    static Value constant_min_max(ir::BinaryOp op, const Value& a, const Value& b);
    /// Reports values that are not numbers, and is false then.
    bool are_numbers(const std::vector<Value>& values, const std::vector<SourceRange>& at);
    bool check_arity(const ast::Expr& e, const std::string& name, const ast::Call& call, std::size_t least,
                     std::size_t most, SourceRange declared = {});
    /// Operands of a math function in one float type; empty after an error.
    std::vector<ir::Expr> to_one_float(const std::vector<Value>& values, const std::vector<SourceRange>& at);
    const Symbol* output_symbol(const ast::Expr& e, const Env& env);

    // ---------------------------------------------------------------------------------------------- types
    Value arithmetic(ir::BinaryOp op, const Value& a, const Value& b, SourceRange a_range, SourceRange b_range,
                     SourceRange range, SourceRange op_range);
    Value constant_arithmetic(ir::BinaryOp op, const Value& a, const Value& b, SourceRange range, bool in_table);
    Value table_arithmetic(ir::BinaryOp op, const Value& a, const Value& b, SourceRange a_range, SourceRange b_range,
                           SourceRange range, SourceRange op_range);
    Value compare(ir::BinaryOp op, const Value& a, const Value& b, SourceRange a_range, SourceRange b_range,
                  SourceRange range);
    Value negate(ir::UnaryOp op, const Value& a, SourceRange a_range, SourceRange range);
    /// The type in which an operator works on `a` and `b`; reports and gives none where there is none. With `promote`,
    /// integers become at least int32; without it equal types stay as they are.
    std::optional<ir::Type> operator_type(const Value& a, const Value& b, bool promote, SourceRange a_range,
                                          SourceRange b_range, SourceRange range);
    /// Brings values to one type without promotion (branches, min, max, clamp); false after an error.
    bool unify(std::vector<Value>& values, const std::vector<SourceRange>& ranges, SourceRange range);
    /// Warns of a quotient of integer constants that dropped a fraction, where `value`, which has it as a part, becomes
    /// a real number. In indices and counts the whole number is meant.
    void note_inexact(const Value& value);
    /// An untyped constant in `type`; null after an error.
    ir::Expr typed_constant(const Value& untyped, ir::Type type, SourceRange range);
    /// A scalar by its type or default type; null for poison and after an error.
    ir::Expr typed(const Value& value, SourceRange range);
    /// Converts implicitly to `type`, or reports the cast that is needed. `what` tells what wants the type.
    ir::Expr convert(const Value& value, ir::Type type, SourceRange range, const std::string& what);
    /// `v / 255` and `x / C` of index variables, where `y / 8` is the tile of a pixel and `t / 3` the row of a window.
    [[nodiscard]] bool is_share(const ir::Binary& quotient) const;
    /// The quotients of data, and shares, that the integer `e` is, or adds up, multiplies or chooses from.
    void lossy_quotients(const ir::Expr& e, std::set<const ir::Node*>& seen, std::vector<ir::Expr>& found);
    /// Warns where `e` is an integer that becomes a float and has lost the fraction of a quotient by then.
    void note_dropped_fraction(const ir::Expr& e, ir::Type type);
    Value explicit_cast(const Value& value, ir::Type type, bool saturate, SourceRange range, SourceRange operand_range);

    // ---------------------------------------------------------------------------------------------- finish
    void finish();
    void fold_generated();
    void drop_unused();
    void warn_unused();

    Files& files_;
    Diagnostics& diags_;
    ir::Pipeline p_;
    /// For each stage: the ranges that lower() and upper() tell, where there are any.
    std::vector<Bounds> bounds_;
    std::deque<Instance> instances_;
    std::vector<Symbol*> local_symbols_;  ///< declared in bodies of this pipeline, for the warnings
    std::vector<Symbol*> in_progress_;
    ContentsOfNodes contents_;
    std::map<ir::VarId, ir::Expr> let_values_;
    std::map<ir::VarId, Image> let_images_;  ///< stages made of lets: one for each, however often it is used whole
    std::map<ir::VarId, SourceRange> index_variables_;
    std::set<std::string> stage_names_;
    std::map<std::string, Value> instantiated_;  ///< calls of stage functions, by function and arguments
    std::vector<Symbol*> outputs_;
    std::set<const Symbol*> outputs_in_lets_;  ///< refused as such: nothing more is said of their definitions
    Scope* body_ = nullptr;
    Instance* instance_ = nullptr;
    /// The name of a stage that is being defined may stand here, in a read of itself.
    bool self_allowed_ = false;
    /// An index is being evaluated, where only integers can stand: their division is meant.
    bool in_index_ = false;
    /// Where there are no index variables: what is said of one. Empty elsewhere.
    struct Outside {
        std::string_view advice;
        bool told = false;
    } outside_points_;
    std::set<const Symbol*> hidden_;        ///< that were reported
    const ast::Fn* callee_ = nullptr;       ///< whose argument is being made an image
    std::set<std::string> scalar_outputs_;  ///< refused as such, so that nothing more is said of their definitions
    bool failed_ = false;
    bool exhausted_ = false;
    int depth_ = 0;
    int call_depth_ = 0;
    long steps_ = 0;
    int iterations_ = 0;
};

}  // namespace pipec::elab
