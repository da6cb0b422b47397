#pragma once
// Values as Go's %v prints them, for messages that quote what a client sent.

#include <string>

#include "json/json.h"

namespace yard {

std::string go_print(
    const Json& value);  // map[image:new name:c], [a b]; cut after a few hundred bytes

}  // namespace yard
