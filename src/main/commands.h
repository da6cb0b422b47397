#pragma once
// One function a subcommand: it adds its flags and help to the program and says what to run.

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <functional>
#include <string>

#include "main/state_folder.h"

namespace yard {

// Exit codes scripts may rely on.
enum ExitCode { kOk = 0, kFailed = 1, kUsage = 2, kNotFound = 5, kUnreachable = 6 };

struct Program {
  CLI::App app{"Trainyard runs training jobs written for Kubernetes on this machine: one binary, no cluster.", "trainyard"};
  std::string state;          // --state, before or after the subcommand
  std::function<int()> run;   // what the chosen subcommand does

  CLI::App* add(const std::string& name, const std::string& about, const std::string& examples);
  Result<StateFolder> folder() const { return StateFolder::locate(state); }
};

int print_error(const std::string& message);

void add_serve(Program& program);
void add_up(Program& program);
void add_down(Program& program);
void add_restart(Program& program);
void add_status(Program& program);
void add_kubeconfig(Program& program);
void add_version(Program& program);

// Shared by up, down and restart.
struct StartOptions {
  std::string address = "127.0.0.1";
  int port = 0;
};
int start_server(const StateFolder& folder, const StartOptions& options);
int stop_server(const StateFolder& folder);

}  // namespace yard
