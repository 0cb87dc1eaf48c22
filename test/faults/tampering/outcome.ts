import type { Examination } from './case.ts'
import { differencesOf, type Readings } from './readings.ts'

/**
 * What became of a change. `refused`: the registry did not start. `reported`: fsck reports it. `unreadable`: a reading
 * says that the store is damaged. `disproved`: the verifier refuses a proof. `harmless`: everything reads as before.
 * `unbound`: only records changed that no hash binds, in a form that the registry could have written itself. `missed`:
 * what is read has changed, and nothing notices it.
 */
export type Outcome = 'refused' | 'reported' | 'unreadable' | 'disproved' | 'harmless' | 'unbound' | 'missed'

export function outcomeOf(before: Readings, { refusal, readings, reported }: Examination): Outcome {
  if (refusal !== undefined) return 'refused'
  if (reported.length > 0) return 'reported'
  if (readings === undefined) return 'missed'
  if (readings.failed.length > 0) return 'unreadable'
  if (readings.refused.length > 0) return 'disproved'
  return isVisible(before, readings)
}

/** Only compares what is read: the outcome without any check. */
export function isVisible(before: Readings, readings: Readings): 'harmless' | 'unbound' | 'missed' {
  const differences = differencesOf(before, readings)
  if (differences.length === 0) return 'harmless'
  return differences.every((name) => kindOf(name, before, readings) === 'operational') ? 'unbound' : 'missed'
}

const kindOf = (name: string, before: Readings, after: Readings): string | undefined =>
  (before.values.get(name) ?? after.values.get(name))?.kind

/** What a person needs to see of an examination. */
export function describe(before: Readings, { refusal, readings, reported }: Examination): string {
  const changed = readings === undefined ? [] : differencesOf(before, readings)
  const texts = changed.slice(0, 2).map((name) => {
    const [was, is] = [before.values.get(name)?.text ?? 'nothing', readings?.values.get(name)?.text ?? 'nothing']
    const at = Array.from(was).findIndex((char, i) => char !== is[i])
    const part = (text: string): string => text.slice(Math.max(0, at - 60), at + 60)
    return `${name}: ${part(was)} became ${part(is)}`
  })
  const problems = [...(readings?.failed ?? []), ...(readings?.refused ?? []), ...reported].slice(0, 3)
  return [refusal ?? '', `${changed.length} readings differ`, ...texts, ...problems].filter(Boolean).join('\n  ')
}
