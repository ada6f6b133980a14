#include "lsp/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace pipec::lsp {

namespace {

/// The value of `Content-Length` in a header. What precedes it, such as the rest of a broken message, is ignored.
std::optional<std::size_t> content_length(std::string header) {
    constexpr std::string_view kName = "content-length:";
    for (char& c : header) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const std::size_t at = header.rfind(kName);
    if (at == std::string::npos) return std::nullopt;
    std::string_view digits = std::string_view(header).substr(at + kName.size());
    digits = digits.substr(0, digits.find('\n'));
    while (digits.starts_with(' ') || digits.starts_with('\t')) digits.remove_prefix(1);
    while (digits.ends_with('\r') || digits.ends_with(' ')) digits.remove_suffix(1);
    std::size_t value = 0;
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || rest != digits.data() + digits.size()) return std::nullopt;
    return value;
}

}  // namespace

std::optional<std::variant<Json, RequestError>> MessageReader::next() {
    const std::size_t skipped = std::min(skip_, buffer_.size());
    buffer_.erase(0, skipped);
    skip_ -= skipped;
    if (skip_ > 0) return std::nullopt;
    // Line ends without \r are taken, too.
    const std::size_t with_cr = buffer_.find("\r\n\r\n"), without = buffer_.find("\n\n");
    const std::size_t end = std::min(with_cr, without);
    constexpr std::size_t kMaxHeader = 4096;
    if (end == std::string::npos) {
        if (buffer_.size() <= kMaxHeader) return std::nullopt;
        buffer_.clear();
        return RequestError(ErrorCode::ParseError, "a header without an end");
    }
    const std::size_t begin = end + (end == with_cr ? 4 : 2);
    const auto length = content_length(buffer_.substr(0, end));
    if (!length) {
        buffer_.erase(0, begin);
        return RequestError(ErrorCode::ParseError, "a header without Content-Length");
    }
    if (*length > kMaxBytes) {
        buffer_.erase(0, begin);
        skip_ = *length;
        return RequestError(ErrorCode::ParseError, fmt::format("a message of {} bytes is too large", *length));
    }
    if (buffer_.size() - begin < *length) return std::nullopt;
    const std::string body = buffer_.substr(begin, *length);
    buffer_.erase(0, begin + *length);
    // Values nest as deep as a message says, and are destroyed recursively.
    constexpr int kMaxDepth = 500;
    const Json::parser_callback_t shallow = [&](int depth, Json::parse_event_t, Json&) {
        if (depth > kMaxDepth) throw RequestError(ErrorCode::ParseError, "a message that nests too deeply");
        return true;
    };
    try {
        return Json::parse(body, shallow);
    } catch (const RequestError& error) {
        return error;
    } catch (const Json::exception& error) {
        return RequestError(ErrorCode::ParseError, error.what());
    }
}

std::string framed(const Json& message) {
    const std::string body = message.dump(-1, ' ', false, Json::error_handler_t::replace);
    return fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
}

Json response(const Json& id, Json result) {
    return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

Json error_response(const Json& id, const RequestError& error) {
    return {
        {"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", static_cast<int>(error.code)}, {"message", error.what()}}}};
}

Json notification(std::string_view method, Json params) {
    return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

}  // namespace pipec::lsp
