// Messages of JSON-RPC as the Language Server Protocol frames them: `Content-Length: N`, an empty line, N bytes.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

namespace pipec::lsp {

using Json = nlohmann::json;

/// Error codes of JSON-RPC and of the protocol.
enum class ErrorCode : int {
    ParseError = -32700,
    InvalidRequest = -32600,
    MethodNotFound = -32601,
    InvalidParams = -32602,
    InternalError = -32603,
    NotInitialized = -32002,
    RequestCancelled = -32800,
    RequestFailed = -32803
};

/// A request that is answered with an error.
struct RequestError : std::runtime_error {
    RequestError(ErrorCode of, const std::string& message) : std::runtime_error(message), code(of) {}
    ErrorCode code;
};

/// Cuts a stream of bytes into messages. Bytes that are no frame are skipped.
class MessageReader {
public:
    /// Larger messages are skipped.
    static constexpr std::size_t kMaxBytes = std::size_t{128} << 20U;

    void feed(std::string_view bytes) { buffer_ += bytes; }
    /// The next message, or the reason why there is none where one was sent; nothing until all of its bytes are there.
    std::optional<std::variant<Json, RequestError>> next();

private:
    std::string buffer_;
    std::size_t skip_ = 0;  ///< bytes of a message that is too large
};

/// A message with its frame. Bytes that are no UTF-8 are replaced.
std::string framed(const Json& message);

Json response(const Json& id, Json result);
Json error_response(const Json& id, const RequestError& error);
Json notification(std::string_view method, Json params);

}  // namespace pipec::lsp
