#include "driver/lsp/lsp.h"

#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "driver/command_line.h"
#include "driver/files.h"
#include "driver/lsp/library_files.h"
#include "driver/options.h"
#include "lsp/server.h"
#include "runner/options.h"
#include "support/big_stack.h"
#include "support/unicode.h"

namespace pipec::driver {

namespace {

using lsp::Json;

constexpr const char* kLspFooter = R"(
Editors start this command and talk to it: the Language Server Protocol on standard input and
output. docs/editors.md says how they are told to.)";

constexpr std::size_t kStackBytes = std::size_t{256} << 20;

/// Makes full analyses on a thread of its own, one at a time. Its results wake up who polls `descriptor`.
class Worker {
public:
    Worker() {
        if (::pipe(pipe_.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
        // It ends with the process: an analysis cannot be interrupted, and nobody waits for one.
        std::thread([this] { run_on_big_stack(kStackBytes, [this] { run(); }); }).detach();
    }

    [[nodiscard]] int descriptor() const { return pipe_[0]; }
    [[nodiscard]] bool idle() {
        const std::lock_guard lock(mutex_);
        return !busy_;
    }
    void start(lsp::Job job) {
        const std::lock_guard lock(mutex_);
        job_ = std::move(job);
        busy_ = true;
        wake_.notify_one();
    }
    /// What is done, once the descriptor can be read.
    std::optional<std::pair<lsp::Job, std::shared_ptr<const lsp::Analysis>>> result() {
        char byte = 0;
        if (::read(pipe_[0], &byte, 1) != 1) return std::nullopt;
        const std::lock_guard lock(mutex_);
        return std::exchange(result_, std::nullopt);
    }

private:
    [[noreturn]] void run() {
        while (true) {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [&] { return job_.has_value(); });
            lsp::Job job = std::move(*job_);
            job_.reset();
            lock.unlock();
            auto analysis = lsp::analyze(job.request);
            lock.lock();
            result_.emplace(std::move(job), std::move(analysis));
            busy_ = false;
            const char byte = 0;
            if (::write(pipe_[1], &byte, 1) != 1) std::_Exit(kExitInternal);
        }
    }

    std::array<int, 2> pipe_{};
    std::mutex mutex_;
    std::condition_variable wake_;
    std::optional<lsp::Job> job_;
    std::optional<std::pair<lsp::Job, std::shared_ptr<const lsp::Analysis>>> result_;
    bool busy_ = false;
};

/// False where the client is gone.
bool write_all(std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

/// Messages that were read and not yet answered. A request that is taken back before its turn is refused.
class Inbox {
public:
    void feed(std::string_view bytes) {
        reader_.feed(bytes);
        while (auto next = reader_.next()) {
            if (const auto* message = std::get_if<Json>(&*next)) note_cancellation(*message);
            messages_.push_back(std::move(*next));
        }
    }
    [[nodiscard]] bool empty() const { return messages_.empty(); }

    void handle_next(lsp::Server& server) {
        const auto next = std::move(messages_.front());
        messages_.pop_front();
        if (const auto* error = std::get_if<lsp::RequestError>(&next)) {
            server.refuse(nullptr, *error);
            return;
        }
        const Json& message = std::get<Json>(next);
        const bool request = message.is_object() && message.contains("id") && message.contains("method");
        if (request && cancelled_.erase(message["id"].dump(-1, ' ', false, Json::error_handler_t::replace)) > 0) {
            server.refuse(message["id"], lsp::RequestError(lsp::ErrorCode::RequestCancelled, "taken back"));
            return;
        }
        server.receive(message, lsp::Server::Clock::now());
    }

private:
    void note_cancellation(const Json& message) {
        if (!message.is_object() || message.value("method", Json()) != "$/cancelRequest") return;
        const Json::json_pointer id("/params/id");
        if (!message.contains(id)) return;
        // One that was answered already needs no note.
        for (const auto& waiting : messages_) {
            const auto* other = std::get_if<Json>(&waiting);
            if (other == nullptr || !other->is_object() || other->value("id", Json()) != message[id]) continue;
            cancelled_.insert(message[id].dump(-1, ' ', false, Json::error_handler_t::replace));
        }
    }

    lsp::MessageReader reader_;
    std::deque<std::variant<Json, lsp::RequestError>> messages_;
    std::set<std::string> cancelled_;
};

int serve(lsp::ServerOptions options) {
    std::signal(SIGPIPE, SIG_IGN);
    bool connected = true;
    lsp::Server server(std::move(options),
                       [&](const Json& message) { connected = connected && write_all(lsp::framed(message)); });
    Worker worker;
    Inbox inbox;
    while (connected && !server.finished()) {
        if (!inbox.empty()) inbox.handle_next(server);
        if (server.finished()) break;
        if (inbox.empty() && worker.idle()) {
            if (auto job = server.next_job()) worker.start(std::move(*job));
        }
        int timeout = inbox.empty() ? -1 : 0;
        if (const auto due = server.due(); due && inbox.empty()) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due - lsp::Server::Clock::now());
            timeout = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
        }
        std::array<pollfd, 2> ready{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{worker.descriptor(), POLLIN, 0}};
        if (::poll(ready.data(), ready.size(), timeout) < 0 && errno != EINTR) break;
        if (ready[0].revents != 0) {
            static std::array<char, 1U << 16U> buffer;
            const ssize_t n = ::read(STDIN_FILENO, buffer.data(), buffer.size());
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) {
                while (connected && !inbox.empty() && !server.finished()) inbox.handle_next(server);
                break;
            }
            inbox.feed({buffer.data(), static_cast<std::size_t>(n)});
        }
        if (ready[1].revents != 0) {
            if (auto done = worker.result()) server.finish(done->first, std::move(done->second));
        }
        if (inbox.empty()) server.tick(lsp::Server::Clock::now());
    }
    std::_Exit(server.exit_code());  // the worker may be at work
}

constexpr const char* kLspTitle = "The language server.";

void declare(CLI::App& app, lsp::ServerOptions& options) {
    app.footer(kLspFooter);
    app.add_option("-I", options.include_dirs, "Search DIR for imports")
        ->allow_extra_args(false)
        ->option_text("DIR ...");
    app.add_flag("--stdio")->description("Talk on standard input and output, which is done anyway");
}

}  // namespace

void describe_lsp(const AppVisitor& visit) {
    describe<lsp::ServerOptions>(kLspTitle, "pipec lsp", declare, visit);
}

int lsp_command(int argc, char** argv) {
    lsp::ServerOptions options;
    options.version = PIPEC_VERSION;
    CLI::App app(kLspTitle, "pipec lsp");
    declare(app, options);
    try {
        runner::parse(app, {argv + 1, argv + argc});
    } catch (const CLI::CallForHelp&) {
        write_files({{"-", app.help()}});
        return kExitSuccess;
    } catch (const CLI::ParseError& error) {
        std::cerr << "pipec: error: " << printable(error.what()) << "\nTry `pipec lsp --help`.\n";
        return kExitUsage;
    }
    options.library = library_directory();
    return serve(std::move(options));
}

}  // namespace pipec::driver
