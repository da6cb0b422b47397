// The command of the measured pods: `stamp ID FIFO` writes "ID nanoseconds" into FIFO and ends. No
// libc, so that its first instruction is the moment of its execve; `stamp ID FIFO wait` then waits
// for a signal, `stamp steps FIFO` works in equal steps and tells how long each took, and `stamp
// flood` writes numbered lines of 100 bytes to stdout as fast as it can, 4 kB at a time.

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>

namespace {

long call(long number, long a, long b = 0, long c = 0, long d = 0) {
  long result = number;
  register long fourth asm("r10") = d;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(fourth)
               : "rcx", "r11", "memory");
  return result;
}

long nanoseconds() {
  timespec now{};
  call(SYS_clock_gettime, CLOCK_REALTIME, reinterpret_cast<long>(&now));
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void write_line(const char* fifo, const char* id, long number) {
  char line[128];
  long size = 0;
  while (id[size] != '\0' && size < 64) {
    line[size] = id[size];
    ++size;
  }
  line[size++] = ' ';
  char digits[24];
  long count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  while (count > 0)
    line[size++] = digits[--count];
  line[size++] = '\n';
  const long fd = call(SYS_open, reinterpret_cast<long>(fifo), O_WRONLY | O_CLOEXEC);
  call(SYS_write, fd, reinterpret_cast<long>(line), size);
  call(SYS_close, fd);
}

// Some milliseconds of arithmetic.
void work() {
  volatile unsigned long sum = 0;
  for (unsigned long i = 0; i < 4'000'000; ++i)
    sum = sum * 2862933555777941757UL + i;
}

constexpr long kLine = 100, kLinesAtOnce = 40;

[[noreturn]] void flood() {
  static char text[kLine * kLinesAtOnce];
  for (long number = 0;; number += kLinesAtOnce) {
    for (long line = 0; line < kLinesAtOnce; ++line) {
      char* at = text + line * kLine;
      for (long i = 0; i < kLine - 1; ++i)
        at[i] = '.';
      at[kLine - 1] = '\n';
      long rest = number + line;
      for (long digit = 11; digit >= 0; --digit, rest /= 10)
        at[digit] = static_cast<char>('0' + rest % 10);
    }
    const char* from = text;
    for (long left = sizeof text; left > 0;) {
      const long count = call(SYS_write, 1, reinterpret_cast<long>(from), left);
      if (count <= 0) call(SYS_exit_group, 1);
      from += count;
      left -= count;
    }
  }
}

[[noreturn]] void run(long began, long count, char** arguments) {
  if (count == 2) flood();
  if (count >= 3) write_line(arguments[2], arguments[1], began);
  const bool steps = count >= 3 && arguments[1][0] == 's' && arguments[1][1] == 't';
  while (steps) {
    const long before = nanoseconds();
    work();
    write_line(arguments[2], "step", nanoseconds() - before);
  }
  while (count >= 4)
    call(SYS_pause, 0);
  call(SYS_exit_group, 0);
  __builtin_unreachable();
}

}  // namespace

extern "C" [[noreturn]] void begin(long* stack) {
  run(nanoseconds(), stack[0], reinterpret_cast<char**>(stack + 1));
}

asm(".globl _start\n_start:\n  xor %ebp, %ebp\n  mov %rsp, %rdi\n  and $-16, %rsp\n  call begin\n");
