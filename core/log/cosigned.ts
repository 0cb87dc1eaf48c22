import type { WitnessPolicy } from '../ports/index.ts'
import { MAX_NOTE_LENGTH } from './note.ts'
import type { CosignedRecord } from './records.ts'

/** What witnesses have cosigned of a checkpoint. */

/** Characters of a note that are left for its text and the signature of the log. */
const OWN_PART = 1_024

/** One signature line of each witness without the line feed, as many as a note may have. */
export function linesOf({ cosignatures }: CosignedRecord, which: 'first' | 'newest'): readonly string[] {
  let room = MAX_NOTE_LENGTH - OWN_PART
  const lines: string[] = []
  for (const { [which]: line } of cosignatures) {
    room -= line.length + 1
    if (room > 0) lines.push(line)
  }
  return lines
}

/** Whether the witnesses that cosigned a checkpoint are a quorum of a policy. */
export function hasQuorum(
  { witnesses, groups, quorum }: WitnessPolicy,
  { cosignatures }: Pick<CosignedRecord, 'cosignatures'>,
): boolean {
  const cosigned = witnesses.filter((witness) => cosignatures.some(({ vkey }) => vkey === witness.vkey))
  const reached = new Set(cosigned.map(({ name }) => name))
  for (const { name, threshold, members } of groups) {
    const least = threshold === 'all' ? members.length : threshold === 'any' ? 1 : threshold
    if (members.filter((member) => reached.has(member)).length >= least) reached.add(name)
  }
  return quorum === 'none' || reached.has(quorum)
}
