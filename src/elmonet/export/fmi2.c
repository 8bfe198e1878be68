/* The interface of FMI 2.0 for co-simulation (fmi-standard.org), around one function of the model.

   The model takes [inputs, memory] to [outputs, result, seen, memory at rest]; without memory it takes inputs to
   outputs. Outputs are computed when they are asked for, from the inputs at that time. fmi2DoStep ends a step:
   its result and inputs enter the memory. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#if defined _WIN32
#define FMI2_EXPORT __declspec(dllexport)
#else
#define FMI2_EXPORT
#endif

typedef void *fmi2Component;
typedef void *fmi2ComponentEnvironment;
typedef void *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer;
typedef int fmi2Boolean;
typedef const char *fmi2String;
typedef char fmi2Byte;
typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated } fmi2StatusKind;
typedef struct {
    void (*logger)(fmi2ComponentEnvironment, fmi2String, fmi2Status, fmi2String, fmi2String, ...);
    void *(*allocateMemory)(size_t, size_t);
    void (*freeMemory)(void *);
    void (*stepFinished)(fmi2ComponentEnvironment, fmi2Status);
    fmi2ComponentEnvironment componentEnvironment;
} fmi2CallbackFunctions;

#define PAST_VALUES (FMU_PAST * FMU_RESULT)
#define BEFORE_VALUES (FMU_BEFORE * FMU_SEEN)
#define MEMORY (PAST_VALUES + BEFORE_VALUES)
#define ALL_OUTPUTS (FMU_OUTPUTS + FMU_RESULT + FMU_SEEN + MEMORY)

typedef struct {
    const fmi2CallbackFunctions *callbacks;
    char *name;
    double x[FMU_INPUTS + MEMORY];
    double y[ALL_OUTPUTS];
    double work[FMU_WORK];
    double time;
    int current; /* whether y belongs to x */
    int started; /* whether the memory holds anything */
} Instance;

static void complain(Instance *own, fmi2Status status, const char *message)
{
    if (own->callbacks && own->callbacks->logger)
        own->callbacks->logger(own->callbacks->componentEnvironment, own->name ? own->name : "",
                               status, status == fmi2Error ? "logStatusError" : "logStatusDiscard", message);
}

static void update(Instance *own)
{
    if (own->current) return;
    if (MEMORY > 0 && !own->started) { /* the memory at rest may depend on the first inputs */
        FMU_MODEL(own->x, own->y, own->work);
        for (int i = 0; i < MEMORY; i++)
            own->x[FMU_INPUTS + i] = own->y[FMU_OUTPUTS + FMU_RESULT + FMU_SEEN + i];
    }
    FMU_MODEL(own->x, own->y, own->work);
    own->current = 1;
}

static void end_step(Instance *own)
{
    double *past = own->x + FMU_INPUTS, *before = past + PAST_VALUES;
    update(own);
    for (int i = 0; i + FMU_RESULT < PAST_VALUES; i++) past[i] = past[i + FMU_RESULT];
    if (PAST_VALUES > 0)
        for (int i = 0; i < FMU_RESULT; i++) past[PAST_VALUES - FMU_RESULT + i] = own->y[FMU_OUTPUTS + i];
    for (int i = 0; i + FMU_SEEN < BEFORE_VALUES; i++) before[i] = before[i + FMU_SEEN];
    if (BEFORE_VALUES > 0)
        for (int i = 0; i < FMU_SEEN; i++)
            before[BEFORE_VALUES - FMU_SEEN + i] = own->y[FMU_OUTPUTS + FMU_RESULT + i];
    own->started = 1;
    own->current = 0;
}

FMI2_EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }
FMI2_EXPORT const char *fmi2GetVersion(void) { return "2.0"; }

FMI2_EXPORT fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String names[])
{
    (void)c; (void)on; (void)n; (void)names;
    return fmi2OK;
}

FMI2_EXPORT fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                                          const fmi2CallbackFunctions *callbacks, fmi2Boolean visible,
                                          fmi2Boolean logging)
{
    Instance *own;
    (void)resources; (void)visible; (void)logging;
    if (type != fmi2CoSimulation || !guid || strcmp(guid, FMU_GUID) != 0) return NULL;
    own = calloc(1, sizeof(Instance));
    if (!own) return NULL;
    own->callbacks = callbacks;
    own->name = name ? malloc(strlen(name) + 1) : NULL;
    if (own->name) strcpy(own->name, name);
    return own;
}

FMI2_EXPORT void fmi2FreeInstance(fmi2Component c)
{
    if (c) free(((Instance *)c)->name);
    free(c);
}

FMI2_EXPORT fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean with_tolerance, fmi2Real tolerance,
                                           fmi2Real start, fmi2Boolean with_stop, fmi2Real stop)
{
    (void)with_tolerance; (void)tolerance; (void)with_stop; (void)stop;
    ((Instance *)c)->time = start;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2EnterInitializationMode(fmi2Component c) { return c ? fmi2OK : fmi2Error; }
FMI2_EXPORT fmi2Status fmi2ExitInitializationMode(fmi2Component c) { return c ? fmi2OK : fmi2Error; }
FMI2_EXPORT fmi2Status fmi2Terminate(fmi2Component c) { return c ? fmi2OK : fmi2Error; }

FMI2_EXPORT fmi2Status fmi2Reset(fmi2Component c)
{
    Instance *own = c;
    memset(own->x, 0, sizeof own->x);
    own->time = 0.0;
    own->current = own->started = 0;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[])
{
    Instance *own = c;
    for (size_t i = 0; i < n; i++) {
        if (vr[i] < FMU_INPUTS) {
            value[i] = own->x[vr[i]];
        } else if (vr[i] < FMU_INPUTS + FMU_OUTPUTS) {
            update(own);
            value[i] = own->y[vr[i] - FMU_INPUTS];
        } else {
            complain(own, fmi2Error, "there is no real variable with this reference");
            return fmi2Error;
        }
    }
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                   const fmi2Real value[])
{
    Instance *own = c;
    for (size_t i = 0; i < n; i++) {
        if (vr[i] >= FMU_INPUTS) {
            complain(own, fmi2Error, "only inputs can be set");
            return fmi2Error;
        }
        own->x[vr[i]] = value[i];
        own->current = 0;
    }
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2DoStep(fmi2Component c, fmi2Real time, fmi2Real step, fmi2Boolean no_set)
{
    Instance *own = c;
    const double interval = FMU_INTERVAL;
    (void)no_set;
    if (interval > 0.0) {
        const double count = floor(step / interval + 0.5);
        if (count < 1.0 || fabs(step - count * interval) > 1e-6 * interval) {
            complain(own, fmi2Discard, "the communication step must be a multiple of the step of the model");
            return fmi2Discard;
        }
        for (double k = 0.0; k < count; k += 1.0) end_step(own);
    }
    own->time = time + step;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2CancelStep(fmi2Component c) { (void)c; return fmi2Error; }

FMI2_EXPORT fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value)
{
    if (kind != fmi2LastSuccessfulTime) return fmi2Discard;
    *value = ((Instance *)c)->time;
    return fmi2OK;
}

#define WITHOUT(name, arguments, ignored) \
    FMI2_EXPORT fmi2Status name arguments { ignored return fmi2Error; }
#define NONE_OF(name, type) \
    WITHOUT(name, (fmi2Component c, const fmi2ValueReference vr[], size_t n, type value[]), \
            if (n == 0) return fmi2OK; (void)c; (void)vr; (void)value;)
NONE_OF(fmi2GetInteger, fmi2Integer)
NONE_OF(fmi2GetBoolean, fmi2Boolean)
NONE_OF(fmi2GetString, fmi2String)
NONE_OF(fmi2SetInteger, const fmi2Integer)
NONE_OF(fmi2SetBoolean, const fmi2Boolean)
NONE_OF(fmi2SetString, const fmi2String)
WITHOUT(fmi2GetStatus, (fmi2Component c, const fmi2StatusKind k, fmi2Status *v), (void)c; (void)k; (void)v;)
WITHOUT(fmi2GetIntegerStatus, (fmi2Component c, const fmi2StatusKind k, fmi2Integer *v),
        (void)c; (void)k; (void)v;)
WITHOUT(fmi2GetBooleanStatus, (fmi2Component c, const fmi2StatusKind k, fmi2Boolean *v),
        (void)c; (void)k; (void)v;)
WITHOUT(fmi2GetStringStatus, (fmi2Component c, const fmi2StatusKind k, fmi2String *v),
        (void)c; (void)k; (void)v;)
WITHOUT(fmi2GetFMUstate, (fmi2Component c, fmi2FMUstate *s), (void)c; (void)s;)
WITHOUT(fmi2SetFMUstate, (fmi2Component c, fmi2FMUstate s), (void)c; (void)s;)
WITHOUT(fmi2FreeFMUstate, (fmi2Component c, fmi2FMUstate *s), (void)c; (void)s;)
WITHOUT(fmi2SerializedFMUstateSize, (fmi2Component c, fmi2FMUstate s, size_t *n), (void)c; (void)s; (void)n;)
WITHOUT(fmi2SerializeFMUstate, (fmi2Component c, fmi2FMUstate s, fmi2Byte b[], size_t n),
        (void)c; (void)s; (void)b; (void)n;)
WITHOUT(fmi2DeSerializeFMUstate, (fmi2Component c, const fmi2Byte b[], size_t n, fmi2FMUstate *s),
        (void)c; (void)b; (void)n; (void)s;)
WITHOUT(fmi2GetDirectionalDerivative,
        (fmi2Component c, const fmi2ValueReference u[], size_t m, const fmi2ValueReference k[], size_t n,
         const fmi2Real du[], fmi2Real dv[]),
        (void)c; (void)u; (void)m; (void)k; (void)n; (void)du; (void)dv;)
WITHOUT(fmi2SetRealInputDerivatives,
        (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer o[], const fmi2Real v[]),
        (void)c; (void)vr; (void)n; (void)o; (void)v;)
WITHOUT(fmi2GetRealOutputDerivatives,
        (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer o[], fmi2Real v[]),
        (void)c; (void)vr; (void)n; (void)o; (void)v;)
