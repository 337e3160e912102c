/* Vector table and reset of the Cortex-M55 in QEMU's mps3-an547, and main's arguments. */
#include "semihost.h"

extern uint32_t stack_top, bss_start, bss_end;

int main(int argc, char **argv);
void reset(void);

enum { LINE = 512, WORDS = 8 };

/* CPACR.CP10, CP11: without them the first FPU or Helium instruction faults.
 * CCR.LOB: low-overhead loops. */
#define CPACR (*(volatile uint32_t *)0xE000ED88u)
#define CCR (*(volatile uint32_t *)0xE000ED14u)
#define CFSR (*(volatile uint32_t *)0xE000ED28u)
#define BFAR (*(volatile uint32_t *)0xE000ED38u)

static void fault(void)
{
    uint32_t exception;
    __asm__ volatile("mrs %0, ipsr" : "=r"(exception));
    host_print("fault: exception ");
    host_print_number(exception, 10);
    host_print(", CFSR ");
    host_print_number(CFSR, 16);
    host_print(", BFAR ");
    host_print_number(BFAR, 16);
    host_print("\n");
    host_exit(100);
}

/* Splits the line at its spaces, in place; returns how many words there are, WORDS at most. */
static int split(char *line, char **words)
{
    int count = 0;
    for (char *at = line; *at != '\0' && count < WORDS;) {
        words[count++] = at;
        while (*at != ' ' && *at != '\0') {
            at++;
        }
        if (*at == ' ') {
            *at++ = '\0';
        }
    }
    return count;
}

static void start(void)
{
    static char line[LINE];
    static char *words[WORDS + 1];
    if (host_command_line(line, sizeof line) != 0) {
        line[0] = '\0';
    }
    const int count = split(line, words);
    host_exit((uint32_t)main(count, words));
}

/* The compiler must not use what is not enabled yet. */
__attribute__((target("general-regs-only"))) void reset(void)
{
    CPACR |= 0xFu << 20;
    CCR |= 1u << 19;
    __asm__ volatile("dsb\n isb");
    for (volatile uint32_t *word = &bss_start; word < &bss_end; word++) {
        *word = 0;
    }
    start();
}

/* What the processor reads first: the stack, then the handlers of the exceptions 1 to 15. */
struct vectors {
    const uint32_t *stack;
    void (*handlers[15])(void);
};

__attribute__((section(".vectors"), used)) static const struct vectors vectors = {
    &stack_top,
    {reset, fault, fault, fault, fault, fault, fault, NULL, NULL, NULL, fault, fault, NULL, fault,
     fault}};
