/* A stand-in for libcuda.so.1: it has a CUDA level and, if asked, one GPU with a name and a compute capability.
 *
 * It answers what a program asks before its first piece of work. There is no memory, no context, no kernel: every other
 * function is handed out as one that answers CUDA_ERROR_NOT_SUPPORTED. A function that the caller asks for at a CUDA
 * version above the level is missing, as it is from a driver of that level.
 *
 * The names and numbers are those of NVIDIA's public driver API. The private tables behind cuGetExportTable, with which
 * a runtime makes sure that its driver is NVIDIA's own, are not imitated.
 */

#include "twin.h"

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    NOT_FOUND = 500,
    NOT_SUPPORTED = 801,
    UNKNOWN = 999,
};
enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76 };
enum { SYMBOL_FOUND = 0, SYMBOL_NOT_FOUND = 1, SYMBOL_VERSION_NOT_SUFFICIENT = 2 };

typedef void (*function)(void);

static int initialized, asked;

static int find_gpu(twin_gpu *gpu, int device) {
    if (!initialized) return NOT_INITIALIZED;
    return device == 0 && twin_read_gpu(gpu) ? SUCCESS : INVALID_DEVICE;
}

static int unsupported(void) { return NOT_SUPPORTED; }

PUBLIC int cuInit(unsigned flags) {
    twin_gpu gpu;
    if (flags != 0) return INVALID_VALUE;
    if (!twin_level()) return UNKNOWN;
    if (!twin_read_gpu(&gpu)) return NO_DEVICE;
    initialized = 1;
    return SUCCESS;
}

PUBLIC int cuDriverGetVersion(int *version) {
    if (!version) return INVALID_VALUE;
    asked++;
    *version = twin_level();
    return *version ? SUCCESS : UNKNOWN;
}

/* How often the level, or a function of some level, was asked for: the proof that a runtime met this driver. */
PUBLIC int stackproof_twin_asked(void) { return asked; }

PUBLIC int cuDeviceGetCount(int *count) {
    if (!initialized) return NOT_INITIALIZED;
    if (!count) return INVALID_VALUE;
    *count = 1;
    return SUCCESS;
}

PUBLIC int cuDeviceGet(int *device, int ordinal) {
    twin_gpu gpu;
    if (!device) return INVALID_VALUE;
    *device = ordinal;
    return find_gpu(&gpu, ordinal);
}

PUBLIC int cuDeviceGetName(char *name, int room, int device) {
    twin_gpu gpu;
    int error = find_gpu(&gpu, device);
    if (error) return error;
    return room > 0 && twin_copy(name, (size_t)room, gpu.name) ? SUCCESS : INVALID_VALUE;
}

PUBLIC int cuDeviceGetAttribute(int *value, int attribute, int device) {
    twin_gpu gpu;
    int error = find_gpu(&gpu, device);
    if (error) return error;
    if (!value) return INVALID_VALUE;
    if (attribute != CAPABILITY_MAJOR && attribute != CAPABILITY_MINOR) return NOT_SUPPORTED;
    *value = attribute == CAPABILITY_MAJOR ? gpu.major : gpu.minor;
    return SUCCESS;
}

PUBLIC int cuDeviceComputeCapability(int *major, int *minor, int device) {
    int error = cuDeviceGetAttribute(major, CAPABILITY_MAJOR, device);
    return error ? error : cuDeviceGetAttribute(minor, CAPABILITY_MINOR, device);
}

PUBLIC int cuGetExportTable(const void **table, const void *id) {
    (void)id;
    if (!table) return INVALID_VALUE;
    *table = NULL;
    return NOT_FOUND;
}

static const struct {
    int code;
    const char *name, *text;
} ERRORS[] = {
    {SUCCESS, "CUDA_SUCCESS", "no error"},
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static int describe(int code, const char **said, int by_name) {
    if (!said) return INVALID_VALUE;
    *said = NULL;
    for (size_t i = 0; i < sizeof ERRORS / sizeof *ERRORS; i++)
        if (ERRORS[i].code == code) *said = by_name ? ERRORS[i].name : ERRORS[i].text;
    return *said ? SUCCESS : INVALID_VALUE;
}

PUBLIC int cuGetErrorName(int code, const char **name) { return describe(code, name, 1); }
PUBLIC int cuGetErrorString(int code, const char **text) { return describe(code, text, 0); }

PUBLIC int cuGetProcAddress(const char *name, void **found, int version, unsigned long long flags);
PUBLIC int cuGetProcAddress_v2(const char *name, void **found, int version, unsigned long long flags, int *status);

static const struct {
    const char *name;
    int since;
    function function;
} FUNCTIONS[] = {
    {"cuGetProcAddress", 12000, (function)cuGetProcAddress_v2},
    {"cuGetProcAddress", 0, (function)cuGetProcAddress},
    {"cuInit", 0, (function)cuInit},
    {"cuDriverGetVersion", 0, (function)cuDriverGetVersion},
    {"cuDeviceGetCount", 0, (function)cuDeviceGetCount},
    {"cuDeviceGet", 0, (function)cuDeviceGet},
    {"cuDeviceGetName", 0, (function)cuDeviceGetName},
    {"cuDeviceGetAttribute", 0, (function)cuDeviceGetAttribute},
    {"cuDeviceComputeCapability", 0, (function)cuDeviceComputeCapability},
    {"cuGetExportTable", 0, (function)cuGetExportTable},
    {"cuGetErrorName", 0, (function)cuGetErrorName},
    {"cuGetErrorString", 0, (function)cuGetErrorString},
};

static function find_function(const char *name, int version) {
    for (size_t i = 0; i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++)
        if (version >= FUNCTIONS[i].since && !strcmp(FUNCTIONS[i].name, name)) return FUNCTIONS[i].function;
    return (function)unsupported;
}

int cuGetProcAddress_v2(const char *name, void **found, int version, unsigned long long flags, int *status) {
    int answer = !name || !*name ? SYMBOL_NOT_FOUND : version > twin_level() ? SYMBOL_VERSION_NOT_SUFFICIENT : SYMBOL_FOUND;
    (void)flags;
    if (!found) return INVALID_VALUE;
    asked++;
    *found = answer == SYMBOL_FOUND ? (void *)find_function(name, version) : NULL;
    if (status) *status = answer;
    return *found ? SUCCESS : NOT_FOUND;
}

int cuGetProcAddress(const char *name, void **found, int version, unsigned long long flags) {
    return cuGetProcAddress_v2(name, found, version, flags, NULL);
}
