/* A plugin for QEMU: counts the executed instructions whose address lies in low..high-1.
 *
 *     -plugin libcount.so,low=0x40,high=0x3000,mark=0x1230,stack=0x20080000
 *
 * Prints "mark 0x1230 N" to stderr whenever the instruction at a mark is reached, N of those
 * before it, and "instructions N" at the end. There may be up to MARKS marks. With the address
 * that the stack begins below, prints "stack N" too: how far down from there something was stored,
 * DEEPEST bytes at most. These are instructions, not cycles. Debian ships no qemu-plugin.h, so what
 * is used of its interface (version 1, QEMU 4.2 to 8.1) is declared here. */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W };
typedef uint32_t qemu_plugin_meminfo_t;
typedef uint64_t qemu_plugin_id_t;

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*call)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn,
                                                enum qemu_plugin_op op, void *value,
                                                uint64_t addend);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
                                            void (*call)(unsigned int cpu, void *data),
                                            enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
                                      void (*call)(unsigned int cpu, qemu_plugin_meminfo_t info,
                                                   uint64_t address, void *data),
                                      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
                                      void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*call)(qemu_plugin_id_t, void *),
                                    void *context);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

extern int qemu_plugin_version;
int qemu_plugin_version = 1;
int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv);

enum { MARKS = 16, DEEPEST = 1 << 18 };

static uint64_t low, high, count, marks[MARKS], stack, lowest;
static size_t mark_count;

static void passed(unsigned int cpu, void *data)
{
    (void)cpu;
    (void)fprintf(stderr, "mark 0x%" PRIx64 " %" PRIu64 "\n", *(const uint64_t *)data, count);
}

static void stored(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
    (void)cpu;
    (void)info;
    (void)data;
    if (address < lowest && address + DEEPEST >= stack) {
        lowest = address;
    }
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        const uint64_t address = qemu_plugin_insn_vaddr(insn);
        for (size_t m = 0; m < mark_count; m++) {
            if (address == marks[m]) {
                qemu_plugin_register_vcpu_insn_exec_cb(insn, passed, QEMU_PLUGIN_CB_NO_REGS,
                                                       &marks[m]);
            }
        }
        if (stack != 0) {
            qemu_plugin_register_vcpu_mem_cb(insn, stored, QEMU_PLUGIN_CB_NO_REGS,
                                             QEMU_PLUGIN_MEM_W, NULL);
        }
        if (address >= low && address < high) {
            qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &count, 1);
        }
    }
}

static void finished(qemu_plugin_id_t id, void *context)
{
    (void)id;
    (void)context;
    if (stack != 0) {
        (void)fprintf(stderr, "stack %" PRIu64 "\n", stack - lowest);
    }
    (void)fprintf(stderr, "instructions %" PRIu64 "\n", count);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "low=", 4) == 0) {
            low = strtoull(argv[i] + 4, NULL, 0);
        } else if (strncmp(argv[i], "high=", 5) == 0) {
            high = strtoull(argv[i] + 5, NULL, 0);
        } else if (strncmp(argv[i], "stack=", 6) == 0) {
            stack = lowest = strtoull(argv[i] + 6, NULL, 0);
        } else if (strncmp(argv[i], "mark=", 5) == 0 && mark_count < MARKS) {
            marks[mark_count++] = strtoull(argv[i] + 5, NULL, 0);
        }
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, finished, NULL);
    return 0;
}
