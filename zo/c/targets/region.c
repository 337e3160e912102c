/* The samples that are built in, in a section of their own, so that a linker script can put them into
 * memory-mapped flash. Where samples.bin is written there by other means, leave this file out and
 * hand its address to the run. */
__asm__(".section .npu_samples, \"a\", %progbits\n"
        "    .balign 16\n"
        "    .global sample_region\n"
        "sample_region:\n"
        "    .incbin \"samples.bin\"\n"
        "    .balign 16\n"
        "    .previous\n");

/* ISO C wants a declaration in every file. */
typedef int region_is_made_by_the_assembler;
