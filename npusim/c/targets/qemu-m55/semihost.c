#include "semihost.h"

/* "Semihosting for AArch32 and AArch64", Arm IHI 0100 */
enum {
    SYS_OPEN = 0x01,
    SYS_CLOSE = 0x02,
    SYS_WRITE0 = 0x04,
    SYS_WRITE = 0x05,
    SYS_READ = 0x06,
    SYS_GET_CMDLINE = 0x15,
    SYS_EXIT_EXTENDED = 0x20,
    OPEN_READ_BINARY = 1,
    OPEN_WRITE_BINARY = 5,
    APPLICATION_EXIT = 0x20026
};

static int32_t call(uint32_t operation, const void *block)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = block;
    __asm__ volatile("bkpt #0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return (int32_t)r0;
}

static uint32_t address(const void *pointer)
{
    return (uint32_t)(uintptr_t)pointer;
}

static int32_t open_file(const char *name, uint32_t mode)
{
    uint32_t length = 0;
    while (name[length] != '\0') {
        length++;
    }
    const uint32_t block[3] = {address(name), mode, length};
    return call(SYS_OPEN, block);
}

void host_print(const char *text)
{
    (void)call(SYS_WRITE0, text);
}

void host_print_number(uint32_t number, uint32_t base)
{
    char digits[11];
    size_t at = sizeof digits - 1;
    digits[at] = '\0';
    do {
        digits[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number > 0);
    host_print(&digits[at]);
}

int32_t host_open(const char *name)
{
    return open_file(name, OPEN_READ_BINARY);
}

int32_t host_create(const char *name)
{
    return open_file(name, OPEN_WRITE_BINARY);
}

size_t host_read(int32_t file, void *data, size_t size)
{
    const uint32_t block[3] = {(uint32_t)file, address(data), (uint32_t)size};
    /* the answer is how many bytes are missing */
    const int32_t missing = call(SYS_READ, block);
    return missing < 0 || (size_t)missing > size ? 0 : size - (size_t)missing;
}

int32_t host_write(int32_t file, const void *data, size_t size)
{
    const uint32_t block[3] = {(uint32_t)file, address(data), (uint32_t)size};
    return call(SYS_WRITE, block) == 0 ? 0 : -1;
}

int32_t host_close(int32_t file)
{
    const uint32_t handle[1] = {(uint32_t)file};
    return call(SYS_CLOSE, handle) == 0 ? 0 : -1;
}

int32_t host_command_line(char *line, size_t size)
{
    const uint32_t block[2] = {address(line), (uint32_t)size};
    return call(SYS_GET_CMDLINE, block) == 0 ? 0 : -1;
}

void host_exit(uint32_t code)
{
    const uint32_t block[2] = {APPLICATION_EXIT, code};
    (void)call(SYS_EXIT_EXTENDED, block);
    for (;;) {
    }
}
