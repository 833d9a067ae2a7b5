// A process that takes its time to end, and a thread that is held until the interpreter has ended.
//
// test_threads.py compiles it as a library, and a script loads that by ctypes.
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <cstdlib>

namespace {

std::atomic<bool> is_held{false}, is_ending{false};

void sleep_for(long milliseconds) {
    const timespec time{milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, nullptr);
}

void hold(int) {
    is_held = true;
    while (!is_ending) sleep_for(1);
}

// Called after Python's own end: it ends before exit() is called.
void end_slowly() {
    is_ending = true;
    sleep_for(400);
}

}  // namespace

// Stop a thread where it is, until the process ends.
extern "C" void hold_until_the_end(unsigned long thread) {
    std::atexit(end_slowly);
    struct sigaction action{};
    action.sa_handler = hold;
    sigaction(SIGUSR1, &action, nullptr);
    pthread_kill((pthread_t)thread, SIGUSR1);
    while (!is_held) sleep_for(1);
}
