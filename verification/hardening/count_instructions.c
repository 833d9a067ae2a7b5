// A plugin of QEMU's user mode that counts the instructions a program executes.
//
// Distributions ship QEMU without the header of its plugins, so the few functions used are declared
// here (version 1 of the interface, QEMU 6 and later).
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct qemu_plugin_tb;
int qemu_plugin_version = 1;
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* block);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
                                           void (*callback)(uint64_t, struct qemu_plugin_tb*));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb* block, int operation,
                                              void* counter, uint64_t addend);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*callback)(uint64_t, void*), void* data);

static uint64_t executed;
enum { add = 0 };

static void count_block(uint64_t id, struct qemu_plugin_tb* block) {
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(block, add, &executed, qemu_plugin_tb_n_insns(block));
}

static void print(uint64_t id, void* data) {
    (void)id;
    (void)data;
    fprintf(stderr, "%llu\n", (unsigned long long)executed);
}

int qemu_plugin_install(uint64_t id, const void* info, int count, char** arguments) {
    (void)info;
    (void)count;
    (void)arguments;
    qemu_plugin_register_vcpu_tb_trans_cb(id, count_block);
    qemu_plugin_register_atexit_cb(id, print, NULL);
    return 0;
}
