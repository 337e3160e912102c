/* The samples that are built in. On a board, put the section `.samples` where samples.bin is
 * written to, and leave this file out of the image that is flashed with the program. */
__asm__(".section .samples, \"a\", %progbits\n"
        "    .balign 16\n"
        "    .global sample_region\n"
        "sample_region:\n"
        "    .incbin \"samples.bin\"\n"
        "    .balign 16\n"
        "    .previous\n");

/* ISO C wants a declaration in every file. */
typedef int region_is_made_by_the_assembler;
