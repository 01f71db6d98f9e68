// SPDX-License-Identifier: Apache-2.0
// An adapter that answers well until its first decode, and then does what its argument says. "slow" and "noisy" are no faults: one
// answers in time, a byte after the other, and one logs a lot. "once" dies when the file that a second argument names is not
// there yet, and makes it.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

void say(std::string const& text) {
  for (std::size_t at = 0; at < text.size();) {
    ssize_t const wrote = write(STDOUT_FILENO, text.data() + at, text.size() - at);
    if (wrote <= 0) {
      std::exit(0);
    }
    at += static_cast<std::size_t>(wrote);
  }
}

void say_slowly(std::string const& text) {
  for (char const letter : text) {
    say({letter});
    usleep(2000);
  }
}

std::string logits_of(std::string const& line) {
  std::string text;
  for (char const letter : line) {
    text += letter == '!' ? "logits 0.5 1 -1 0.25\n" : "";
  }
  return text;
}

void misbehave(std::string const& how, std::string const& line, bool is_first) {
  if (how == "killed") {
    std::raise(SIGKILL);
  } else if (how == "exits") {
    std::exit(3);
  } else if (how == "hangs") {
    pause();
  } else if (how == "babbles") {
    say("loading a model\n");
  } else if (how == "half") {
    say("logits 0.5 1 -");
    pause();
  } else if (how == "half_dies") {
    say("logits 0.5 1 -");
    std::exit(0);
  } else if (how == "closes" || how == "shuts") {
    close(STDOUT_FILENO);
    pause();
  } else if (how == "twice") {
    say(logits_of(line) + "ok\n" + logits_of(line));
  } else if (how == "nan" || how == "inf" || how == "huge") {
    say("logits 0.5 1 " + std::string{how == "huge" ? "-1e999" : how} + " 0.25\n");
  } else if (how == "long") {
    std::string const part(std::size_t{1} << 20U, '1');
    say("logits ");
    for (int i = 0; i < 100; ++i) {
      say(part);
    }
    say("\n");
  } else if (how == "wrong_then_dies") {
    if (is_first) {
      say("logits 9 1 -1 0.25\n");
    } else {
      std::raise(SIGSEGV);
    }
  } else if (how == "noisy") {
    std::string const log(std::size_t{1} << 20U, 'x');
    for (int i = 0; i < 10; ++i) {
      std::fputs(log.c_str(), stderr);
    }
    say(logits_of(line));
  } else if (how == "endless") {
    for (;;) {
      say(std::string(4096, 'x'));
    }
  } else if (how == "eats") {
    std::vector<std::vector<char>> all;
    for (;;) {
      all.emplace_back(std::size_t{64} << 20U, 'x');
    }
  } else {
    say_slowly(logits_of(line) + "ok\n");
    return;
  }
  say("ok\n");
}

}  // namespace

int main(int argc, char** argv) {
  std::string how = argc > 1 ? argv[1] : "";
  char line[1 << 16];
  std::fprintf(stderr, "engine says hello\n");
  if (fork() == 0) {  // a helper of its own, which must go with it
    if (how == "shuts") {
      close(STDOUT_FILENO);
    }
    pause();
  }
  if (argc > 2 && access(argv[2], F_OK) != 0) {
    std::fclose(std::fopen(argv[2], "w"));
    how = "killed";
  }
  bool is_first = true;
  while (std::fgets(line, sizeof(line), stdin) != nullptr) {
    std::string const text = line;
    if (text.rfind("hello", 0) == 0) {
      say("engine name=bad version=1\nlimits vocabulary=4 sequences=1 context=64 batch=8\n"
          "operation decode\nok protocol=1\n");
    } else if (text.rfind("cold", 0) == 0) {
      say(logits_of(text) + "ok\n");
    } else if (text.rfind("decode", 0) == 0) {
      misbehave(how, text, is_first);
      is_first = false;
    } else if (text.rfind("positions", 0) == 0) {
      say("ok s0=0..0\n");
    } else {
      say("ok\n");
    }
  }
  return 0;
}
