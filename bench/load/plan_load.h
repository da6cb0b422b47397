#pragma once
// What one look at a training job of so many replicas costs, without a server.

#include <string>

namespace yard::bench {

// JSON: the look at a job whose pods all run, a look while they are made, and all of
// those together, in milliseconds; medians of some rounds.
std::string measure_plans(int replicas);

}  // namespace yard::bench
