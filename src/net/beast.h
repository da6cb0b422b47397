#pragma once
// Beast's HTTP parser, behind net/asio.h for its switch.

// clang-format off
#include "net/asio.h"

#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
// clang-format on
