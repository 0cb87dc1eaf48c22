import { EvidenceTrace, type Step } from '../workload/model.ts'

/** One line of the file in which the traced process says what it does: a write begins, or is acknowledged. */
export interface Mark {
  readonly externalId: string
  /** Absent: the write is acknowledged. */
  readonly step?: Step
}

export const formatMark = (mark: Mark): string => `${JSON.stringify(mark)}\n`

/** Reads the marks that were written before a power loss. */
export function tracesOf(lines: readonly string[]): readonly EvidenceTrace[] {
  const traces = new Map<string, EvidenceTrace>()
  for (const line of lines) {
    const { externalId, step } = JSON.parse(line) as Mark
    const trace = traces.get(externalId) ?? new EvidenceTrace(externalId)
    traces.set(externalId, trace)
    if (step !== undefined) trace.uncertain = step
    else if (trace.uncertain !== undefined) {
      trace.acknowledged.push(trace.uncertain)
      trace.uncertain = undefined
    }
  }
  return [...traces.values()]
}
