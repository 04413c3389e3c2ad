/* A stand-in for libnvidia-ml.so.1: the driver's version, its CUDA level and, if asked, one GPU.
 *
 * The names and numbers are those of NVIDIA's public management API. What is not here is missing, as it is from an old
 * driver; the driver's version is not supported unless STACKPROOF_TWIN_DRIVER gives one.
 */

#include "twin.h"

enum {
    SUCCESS = 0,
    UNINITIALIZED = 1,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    INSUFFICIENT_SIZE = 7,
    UNKNOWN = 999,
};

static int users;
static twin_gpu gpu;

PUBLIC int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    if (!twin_level()) return UNKNOWN;
    users++;
    return SUCCESS;
}

PUBLIC int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
PUBLIC int nvmlInit(void) { return nvmlInitWithFlags(0); }

PUBLIC int nvmlShutdown(void) {
    if (!users) return UNINITIALIZED;
    users--;
    return SUCCESS;
}

PUBLIC const char *nvmlErrorString(int code) {
    switch (code) {
        case SUCCESS: return "Success";
        case UNINITIALIZED: return "Uninitialized";
        case INVALID_ARGUMENT: return "Invalid Argument";
        case NOT_SUPPORTED: return "Not Supported";
        case INSUFFICIENT_SIZE: return "Insufficient Size";
        default: return "Unknown Error";
    }
}

PUBLIC int nvmlSystemGetDriverVersion(char *version, unsigned room) {
    const char *text = getenv("STACKPROOF_TWIN_DRIVER");
    if (!users) return UNINITIALIZED;
    if (!text || !*text) return NOT_SUPPORTED;
    return twin_copy(version, room, text) ? SUCCESS : INSUFFICIENT_SIZE;
}

PUBLIC int nvmlSystemGetCudaDriverVersion_v2(int *version) {
    if (!version) return INVALID_ARGUMENT;
    *version = twin_level();
    return *version ? SUCCESS : UNKNOWN;
}

PUBLIC int nvmlSystemGetCudaDriverVersion(int *version) { return nvmlSystemGetCudaDriverVersion_v2(version); }

PUBLIC int nvmlDeviceGetCount_v2(unsigned *count) {
    if (!users) return UNINITIALIZED;
    if (!count) return INVALID_ARGUMENT;
    *count = twin_read_gpu(&gpu) ? 1 : 0;
    return SUCCESS;
}

PUBLIC int nvmlDeviceGetCount(unsigned *count) { return nvmlDeviceGetCount_v2(count); }

PUBLIC int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    if (!users) return UNINITIALIZED;
    if (!device || index != 0 || !twin_read_gpu(&gpu)) return INVALID_ARGUMENT;
    *device = &gpu;
    return SUCCESS;
}

PUBLIC int nvmlDeviceGetHandleByIndex(unsigned index, void **device) {
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}

PUBLIC int nvmlDeviceGetName(void *device, char *name, unsigned room) {
    if (!users) return UNINITIALIZED;
    if (device != &gpu) return INVALID_ARGUMENT;
    return twin_copy(name, room, gpu.name) ? SUCCESS : INSUFFICIENT_SIZE;
}

PUBLIC int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) {
    if (!users) return UNINITIALIZED;
    if (device != &gpu || !major || !minor) return INVALID_ARGUMENT;
    *major = gpu.major;
    *minor = gpu.minor;
    return SUCCESS;
}
