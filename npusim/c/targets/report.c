#include "report.h"

#include "host.h"

int report_constants(const struct npu_constant *constants)
{
    const struct npu_constant *wrong = npu_differing_constant(constants);
    const int right = wrong == NULL;
    for (; wrong != NULL; wrong = npu_differing_constant(wrong + 1)) {
        host_print("self-test: constant ");
        host_print(wrong->name);
        host_print(" differs\n");
    }
    return right;
}
