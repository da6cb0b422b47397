#include "cli/completion.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace yard {
namespace {

std::string words_of(const std::vector<FlagWords>& flags) {
  std::vector<std::string> names;
  for (const FlagWords& flag : flags)
    names.insert(names.end(), flag.names.begin(), flag.names.end());
  return join(names, " ");
}

// In single quotes for any of the three shells; an apostrophe would end them.
std::string plain(std::string_view text) {
  std::string out;
  for (const char character : text) {
    if (character == '\n') break;
    if (character != '\'' && character != '`' && character != '\\') out += character;
  }
  return out;
}

std::string bash_script(const ProgramWords& program) {
  std::vector<std::string> names;
  std::string values, commands;
  for (const CommandWords& command : program.commands) {
    names.push_back(command.name);
    for (const FlagWords& flag : command.flags) {
      if (!flag.takes_value) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : flag.names)
        patterns.push_back(fmt::format("\"{} {}\"", command.name, name));
      const std::string reply =
          flag.choices.empty()
              ? "return"
              : fmt::format("COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); return",
                            join(flag.choices, " "));
      values += fmt::format("    {}) {} ;;\n", join(patterns, "|"), reply);
    }
    std::string offered = words_of(command.flags);
    if (!command.choices.empty()) offered = join(command.choices, " ") + " " + offered;
    commands += fmt::format("    {}) COMPREPLY=($(compgen -W \"{}\" -- \"$word\")) ;;\n",
                            command.name, offered);
  }
  return fmt::format(
      "# {0} in bash; load it with: source <({0} completion bash)\n"
      "_{0}() {{\n"
      "  local word=\"${{COMP_WORDS[COMP_CWORD]}}\" previous=\"${{COMP_WORDS[COMP_CWORD-1]}}\" "
      "command=\"\" i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case \"${{COMP_WORDS[i]}}\" in\n"
      "    {1}) command=\"${{COMP_WORDS[i]}}\"; break ;;\n"
      "    esac\n"
      "  done\n"
      "  COMPREPLY=()\n"
      "  case \"$command $previous\" in\n{2}  esac\n"
      "  case \"$command\" in\n"
      "    \"\") COMPREPLY=($(compgen -W \"{3} {4}\" -- \"$word\")) ;;\n{5}  esac\n"
      "}}\n"
      "complete -o default -F _{0} {0}\n",
      program.name, join(names, "|"), values, join(names, " "), words_of(program.flags), commands);
}

// '(-n --namespace)'{-n,--namespace}'[about]:value:(a b)'
std::string zsh_flag(const FlagWords& flag) {
  std::string about;
  for (const char character : plain(flag.about)) {
    if (character == '[' || character == ']' || character == ':') about += '\\';
    about += character;
  }
  const std::string value = !flag.takes_value ? ""
                            : flag.choices.empty()
                                ? ":value:_files"
                                : fmt::format(":value:({})", join(flag.choices, " "));
  if (flag.names.size() == 1) return fmt::format("'{}[{}]{}'", flag.names[0], about, value);
  return fmt::format("'({})'{{{}}}'[{}]{}'", join(flag.names, " "), join(flag.names, ","), about,
                     value);
}

std::string zsh_flags(const std::vector<FlagWords>& flags) {
  std::string out;
  for (const FlagWords& flag : flags)
    out += " \\\n        " + zsh_flag(flag);
  return out;
}

std::string zsh_script(const ProgramWords& program) {
  std::string list, commands;
  for (const CommandWords& command : program.commands) {
    list += fmt::format("    '{}:{}'\n", command.name, plain(command.about));
    const std::string argument = command.choices.empty()
                                     ? "'*:argument:_files'"
                                     : fmt::format("'1:argument:({})'", join(command.choices, " "));
    commands += fmt::format("      {}) _arguments{} \\\n        {} ;;\n", command.name,
                            zsh_flags(command.flags), argument);
  }
  return fmt::format(
      "#compdef {0}\n"
      "# {0} in zsh; load it with: source <({0} completion zsh)\n"
      "_{0}() {{\n"
      "  local curcontext=\"$curcontext\" state line\n"
      "  local -a commands\n"
      "  commands=(\n{1}  )\n"
      "  _arguments -C{2} \\\n        '1: :->command' '*:: :->rest'\n"
      "  case $state in\n"
      "  command) _describe -t commands command commands ;;\n"
      "  rest)\n"
      "    case $words[1] in\n{3}    esac ;;\n"
      "  esac\n"
      "}}\n"
      "compdef _{0} {0}\n",
      program.name, list, zsh_flags(program.flags), commands);
}

std::string fish_flag(const ProgramWords& program, const FlagWords& flag,
                      std::string_view condition) {
  std::string line = fmt::format("complete -c {} -n '{}'", program.name, condition);
  for (const std::string& name : flag.names) {
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (flag.takes_value)
    line += flag.choices.empty() ? " -r" : fmt::format(" -xa '{}'", join(flag.choices, " "));
  return fmt::format("{} -d '{}'\n", line, plain(flag.about));
}

std::string fish_script(const ProgramWords& program) {
  std::string out =
      fmt::format("# {0} in fish; load it with: {0} completion fish | source\n", program.name);
  for (const FlagWords& flag : program.flags)
    out += fish_flag(program, flag, "__fish_use_subcommand");
  for (const CommandWords& command : program.commands) {
    out += fmt::format("complete -c {} -f -n __fish_use_subcommand -a {} -d '{}'\n", program.name,
                       command.name, plain(command.about));
  }
  for (const CommandWords& command : program.commands) {
    const std::string condition = "__fish_seen_subcommand_from " + command.name;
    if (!command.choices.empty()) {
      out += fmt::format("complete -c {} -f -n '{}' -a '{}'\n", program.name, condition,
                         join(command.choices, " "));
    }
    for (const FlagWords& flag : command.flags)
      out += fish_flag(program, flag, condition);
  }
  return out;
}

}  // namespace

Result<std::string> completion_script(const ProgramWords& program, std::string_view shell) {
  if (shell == "bash") return bash_script(program);
  if (shell == "zsh") return zsh_script(program);
  if (shell == "fish") return fish_script(program);
  return error(
      Reason::BadRequest,
      fmt::format("no completion for {}; there is one for bash, zsh and fish", quoted(shell)));
}

}  // namespace yard
