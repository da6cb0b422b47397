#include "base/result.h"

namespace yard {

int http_code(Reason reason) {
  switch (reason) {
    case Reason::BadRequest: return 400;
    case Reason::Unauthorized: return 401;
    case Reason::Forbidden: return 403;
    case Reason::NotFound: return 404;
    case Reason::MethodNotAllowed: return 405;
    case Reason::NotAcceptable: return 406;
    case Reason::AlreadyExists:
    case Reason::Conflict: return 409;
    case Reason::Expired: return 410;
    case Reason::RequestEntityTooLarge: return 413;
    case Reason::UnsupportedMediaType: return 415;
    case Reason::Invalid: return 422;
    case Reason::TooManyRequests: return 429;
    case Reason::InternalError:
    case Reason::ServerTimeout: return 500;
    case Reason::ServiceUnavailable: return 503;
    case Reason::Timeout: return 504;
  }
  return 500;
}

const char* wire_name(Reason reason) {
  switch (reason) {
    case Reason::BadRequest: return "BadRequest";
    case Reason::Unauthorized: return "Unauthorized";
    case Reason::Forbidden: return "Forbidden";
    case Reason::NotFound: return "NotFound";
    case Reason::MethodNotAllowed: return "MethodNotAllowed";
    case Reason::NotAcceptable: return "NotAcceptable";
    case Reason::AlreadyExists: return "AlreadyExists";
    case Reason::Conflict: return "Conflict";
    case Reason::Expired: return "Expired";
    case Reason::RequestEntityTooLarge: return "RequestEntityTooLarge";
    case Reason::UnsupportedMediaType: return "UnsupportedMediaType";
    case Reason::Invalid: return "Invalid";
    case Reason::TooManyRequests: return "TooManyRequests";
    case Reason::InternalError: return "InternalError";
    case Reason::ServerTimeout: return "ServerTimeout";
    case Reason::ServiceUnavailable: return "ServiceUnavailable";
    case Reason::Timeout: return "Timeout";
  }
  return "InternalError";
}

}  // namespace yard
