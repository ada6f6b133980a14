// The language server: texts that are open, requests about them, and what it tells by itself. Messages come in and go
// out as JSON; the transport, time and threads are the caller's (driver/lsp).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lsp/analysis.h"
#include "lsp/features.h"
#include "lsp/message.h"

namespace pipec::lsp {

struct ServerOptions {
    std::vector<std::string> include_dirs;
    /// Where the standard library's files can be looked at, or empty.
    std::string library;
    std::string version;
};

/// A full analysis that is to be made, on any thread, and given to Server::finish.
struct Job {
    std::string uri;
    std::int64_t change = 0;  ///< of the text that it is about
    AnalysisRequest request;
};

class Server {
public:
    using Clock = std::chrono::steady_clock;
    /// Between a change and the diagnostics for it. A full analysis comes after those.
    static constexpr std::chrono::milliseconds kDebounce{60};

    Server(ServerOptions options, std::function<void(const Json&)> send);

    /// A message of the client's. Never throws but for missing memory.
    void receive(const Json& message, Clock::time_point now);
    /// A frame that holds no message, or a request that the client has taken back.
    void refuse(const Json& id, const RequestError& error);

    /// When something has to be done without a message.
    [[nodiscard]] std::optional<Clock::time_point> due() const;
    /// Analyses the texts that have been left alone long enough.
    void tick(Clock::time_point now);
    /// The next full analysis that is wanted.
    std::optional<Job> next_job();
    void finish(const Job& job, std::shared_ptr<const Analysis> analysis);

    /// The client asked to end.
    [[nodiscard]] bool finished() const { return finished_; }
    /// 0 after an orderly end.
    [[nodiscard]] int exit_code() const { return shut_down_ ? 0 : 1; }

private:
    struct Analysed {
        std::shared_ptr<const Analysis> analysis;
        Lines lines;
    };
    struct Document {
        std::string uri, path, text;
        Json version;             ///< the client's
        std::int64_t change = 0;  ///< counts them
        std::optional<Analysed> analysed;
        std::int64_t analysed_change = -1;
        bool full_wanted = false;
        std::shared_ptr<const Analysis> last_good;  ///< of a text without syntax errors
        std::optional<Clock::time_point> due;
    };
    using Handler = std::function<Json(const Json& params)>;

    void add_handlers();
    Json initialize(const Json& params);
    Json call(const std::string& method, const Json& params);
    void notify(const std::string& method, const Json& params, Clock::time_point now);
    void open(const Json& params, Clock::time_point now);
    void change(const Json& params, Clock::time_point now);
    void touch(Document& document, Clock::time_point due);
    /// Those that import a file, or any where the path is empty.
    void touch_importers(const std::string& path, Clock::time_point due);
    void close(const Json& params);

    Document& document(const Json& params);
    /// With an analysis of its present text.
    Document& analysed(const Json& params);
    View view(const Document& document) const;
    static std::size_t offset(const Document& document, const Json& params);
    AnalysisRequest request_for(const Document& document) const;
    void analyse(Document& document);
    void set_analysis(Document& document, std::shared_ptr<const Analysis> analysis);
    void publish(const Document& document);
    /// The analyses of the other open texts.
    std::vector<const Analysis*> others(const Document& document);
    Json format(const Json& params);
    Json references(const Json& params);
    Json rename_all(const Json& params);
    /// The protocol's place of a range in any file.
    Json location(const std::string& path, SourceRange range);
    Range range_in(const std::string& path, SourceRange range);

    ServerOptions options_;
    std::function<void(const Json&)> send_;
    std::map<std::string, Handler, std::less<>> handlers_;
    std::map<std::string, Document> documents_;  ///< by address
    std::int64_t changes_ = 0;
    std::int64_t requests_ = 0;  ///< that the server sent
    bool refreshes_hints_ = false;
    bool initialized_ = false, shut_down_ = false, finished_ = false;
};

}  // namespace pipec::lsp
