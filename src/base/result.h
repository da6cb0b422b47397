#pragma once
// The one way to fail. Things that happen (not found, conflict, disk full, bad YAML) are values of
// type Result; things that cannot happen are check() in base/check.h.

#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"

namespace yard {

// The reasons a Kubernetes Status carries, so that any error reaches a client in its own words.
// The HTTP code of each is http_code() in base/result.cpp: one place decides both.
enum class Reason {
  BadRequest,
  Unauthorized,
  Forbidden,
  NotFound,
  MethodNotAllowed,
  NotAcceptable,
  AlreadyExists,
  Conflict,
  Expired,
  RequestEntityTooLarge,
  UnsupportedMediaType,
  Invalid,
  TooManyRequests,
  InternalError,
  ServerTimeout,
  ServiceUnavailable,
  Timeout,
};

int http_code(Reason reason);
const char* wire_name(Reason reason);  // "NotFound"

// One entry of Status.details.causes. For validation errors `reason` is FieldValueRequired and so
// on.
struct Cause {
  std::string reason;
  std::string message;
  std::string field;
  friend bool operator==(const Cause&, const Cause&) = default;
};

// Where the details of a Status come from; empty members are left out on the wire.
struct ErrorDetails {
  std::string name;
  std::string group;
  std::string kind;
  std::string uid;
  std::vector<Cause> causes;
  int retry_after_seconds = 0;
  std::string continue_token;  // Expired lists hand out a fresh one
};

struct Error {
  Reason reason = Reason::InternalError;
  std::string message;
  ErrorDetails details;
};

inline Error error(Reason reason, std::string message) {
  return Error{reason, std::move(message), {}};
}

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit on purpose
  Result(Error failure) : state_(std::in_place_index<1>, std::move(failure)) {}  // NOLINT

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& value() & {
    check(has_value(), "Result has a value");
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    check(has_value(), "Result has a value");
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    check(has_value(), "Result has a value");
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Error& error() & {
    check(!has_value(), "Result has an error");
    return *std::get_if<1>(&state_);
  }
  const Error& error() const& {
    check(!has_value(), "Result has an error");
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    check(!has_value(), "Result has an error");
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  Result() = default;
  Result(Error failure) : error_(std::move(failure)), failed_(true) {}  // NOLINT
  bool has_value() const { return !failed_; }
  explicit operator bool() const { return !failed_; }
  void value() const { check(!failed_, "Result has a value"); }
  Error& error() & {
    check(failed_, "Result has an error");
    return error_;
  }
  const Error& error() const& {
    check(failed_, "Result has an error");
    return error_;
  }
  Error&& error() && {
    check(failed_, "Result has an error");
    return std::move(error_);
  }

 private:
  Error error_;
  bool failed_ = false;
};

namespace detail {
template <typename T>
T take_value(Result<T>& result) {
  return std::move(result).value();
}
inline void take_value(Result<void>&) {}
}  // namespace detail

// The value of a Result, or return its error from this function. Stands alone as an initialiser or
// a statement; never inside braces (GCC 12 skips destructors of earlier elements there).
#define TRY(expression)                                      \
  ({                                                         \
    auto try_result_ = (expression);                         \
    if (!try_result_) return std::move(try_result_).error(); \
    ::yard::detail::take_value(try_result_);                 \
  })

}  // namespace yard
