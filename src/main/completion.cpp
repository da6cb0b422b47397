#include "cli/completion.h"

#include <cstdio>

#include "base/strings.h"
#include "main/commands.h"

namespace yard {
namespace {

// CLI11 writes the members of an IsMember check as `{a,b,c}`.
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find('{'), close = type.find('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  std::vector<std::string> choices;
  for (const std::string_view choice :
       split(std::string_view(type).substr(open + 1, close - open - 1), ','))
    choices.emplace_back(trim(choice));
  return choices;
}

std::vector<FlagWords> flags_of(const CLI::App& app) {
  std::vector<FlagWords> flags;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty() || !option->nonpositional()) continue;
    FlagWords flag;
    for (const std::string& name : option->get_snames())
      flag.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames())
      flag.names.push_back("--" + name);
    flag.about = option->get_description();
    flag.takes_value = option->get_items_expected_max() > 0 && option->get_type_size_max() > 0;
    if (flag.takes_value) flag.choices = choices_of(*option);
    flags.push_back(std::move(flag));
  }
  return flags;
}

ProgramWords words_of(const CLI::App& app) {
  ProgramWords program{app.get_name(), flags_of(app), {}};
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    CommandWords command{each->get_name(), each->get_description(), flags_of(*each), {}};
    for (const CLI::Option* option : each->get_options()) {
      if (option->get_positional() && command.choices.empty())
        command.choices = choices_of(*option);
    }
    program.commands.push_back(std::move(command));
  }
  return program;
}

}  // namespace

void add_completion(Program& program) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      program.add("completion", "Print a script that completes commands and flags in a shell.",
                  "  source <(trainyard completion bash)      in ~/.bashrc\n"
                  "  source <(trainyard completion zsh)       in ~/.zshrc\n"
                  "  trainyard completion fish > ~/.config/fish/completions/trainyard.fish\n");
  command->group(kOtherCommands);
  command->add_option("SHELL", *shell, "the shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&program, shell] {
    program.run = [&program, shell] {
      const auto script = completion_script(words_of(program.app), *shell);
      if (!script) return print_error(script.error().message);
      std::printf("%s", script->c_str());
      return static_cast<int>(kOk);
    };
  });
}

}  // namespace yard
