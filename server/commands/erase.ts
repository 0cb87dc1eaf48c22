import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { ErasureInput, SubjectErasureInput, validate } from '../../core/schemas/index.ts'
import type { Client } from '../client/index.ts'
import { CLIENT_FLAGS, defineClientCommand } from './client-command.ts'
import { printLine, progress } from './evidences.ts'
import { UsageError } from './flags.ts'

const POLL_MS = 500

/** `evidence-registry erase`. */
export const eraseCommand = defineClientCommand({
  name: 'erase',
  description: `
Erases fields, files or the content of an evidence, or a subject: an owner or a persona in all evidences. Prints version
and field of what goes; without --yes, of what would go. Mentions in other texts are not found. The server
goes on if this command ends. An event that is recorded meanwhile may be missed: then run it again. It needs level A.`,
  flags: {
    ...CLIENT_FLAGS,
    evidence: { value: 'EXTERNAL_ID', doc: 'erase parts of this evidence: one of the next three' },
    field: { value: 'NAME', isMultiple: true, doc: 'a field, such as owner, name, description, meta or personaName' },
    file: { value: 'ID', isMultiple: true, doc: 'the id of a file' },
    content: { doc: 'all fields and files, and the external id' },
    subject: { value: 'TEXT', doc: 'erase this owner or persona; - reads it from stdin, so that no shell keeps it' },
    reason: { value: 'REASON', isRequired: true, doc: 'request, retention, court, mistake or other: in the receipt' },
    note: { value: 'TEXT', doc: 'for the company alone' },
    yes: { doc: 'erase it' },
  },
  async run(registry, { evidence, subject, field: fields, file: files, content, reason, note, yes = false, json }) {
    if ((evidence === undefined) === (subject === undefined)) throw new UsageError('expected --evidence or --subject')
    const asked = { reason, dryRun: !yes, ...(note !== undefined && { note }) }
    const parts = { ...(fields && { fields }), ...(files && { files }), ...(content && { content }), ...asked }
    const name = subject === '-' ? (await text(process.stdin)).trim() : subject
    const { erased: values } =
      evidence === undefined
        ? await eraseSubject(registry, { ...asked, subject: name })
        : await registry.eraseEvidence({ externalId: evidence, ...validate(ErasureInput, parts) })
    for (const value of values)
      printLine(json, value, value.version, value.field, 'externalId' in value ? value.externalId : value.file)
    process.stderr.write(yes ? 'This is erased.\n' : 'Nothing is erased yet. To erase it, add --yes\n')
    return 0
  },
})

/** Waits until it is done. */
async function eraseSubject(registry: Client, input: object) {
  const { id: erasureId } = await registry.eraseSubject(validate(SubjectErasureInput, input))
  for (;;) {
    const erasure = await registry.getErasure({ erasureId })
    if (erasure.kind !== 'subject' || erasure.state === 'failed') throw new Error('an evidence is damaged: run fsck')
    if (erasure.state === 'done') {
      if (erasure.isMore) process.stderr.write('These are the first 1,000 values.\n')
      return { erased: erasure.found }
    }
    progress.show(`${erasure.progress.done} of ${erasure.progress.total} evidences`)
    await sleep(POLL_MS)
  }
}
