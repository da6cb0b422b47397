#pragma once
// Status bodies (api-machinery 9) and the messages every verb uses.

#include <string>
#include <string_view>

#include "api/kind.h"
#include "base/result.h"
#include "net/http.h"

namespace yard {

Json status_of(const Error& error);
// {"status":"Success","details":{...}} as a DELETE of most kinds answers.
Json deleted_status(const Kind& kind, std::string_view name, std::string_view uid);
Json success_status(int code);

Error not_found_error(const Kind& kind, std::string_view name);
Error already_exists_error(const Kind& kind, std::string_view name);
Error conflict_error(const Kind& kind, std::string_view name, std::string_view why);
Error modified_error(const Kind& kind,
                     std::string_view name);  // the object has been modified; please ...
Error forbidden_error(const Kind& kind, std::string_view name, std::string_view why);
// Of an object whose name, or want of one, does not fit its URL.
Error wrong_name_error(std::string_view name, std::string_view name_on_url);
Error no_such_resource_error();
Error method_not_allowed_error();
Error namespace_not_found_error(std::string_view ns);
Error namespace_terminating_error(const Kind& kind, std::string_view name, std::string_view ns);

// `299 - "text"`, one value of a Warning header.
std::string warning_header(std::string_view text);

}  // namespace yard
