import { runOperation } from '../control/client.ts'
import { resumeWitnessOperation } from '../control/operations.ts'
import { CHECKPOINT_KEYS, DATA_DIR, defineCommand, SECRET_FILE } from './command.ts'

/** `evidence-registry witnesses resume`. */
export const resumeCommand = defineCommand({
  name: 'witnesses resume',
  operand: 'NAME',
  description: `
Ends the alarm of a witness that said that it has cosigned another history of this log, and asks it again. NAME is its
name in EVIDENCE_WITNESS_POLICY. First find out why: see OPERATIONS.md. A running server asks it within a minute.`,
  flags: { 'data-dir': DATA_DIR, 'secret-file': SECRET_FILE, 'checkpoint-keys': CHECKPOINT_KEYS },
  success: 'the witness has no alarm',
  async run(_, config, name) {
    const hadAlarm = await runOperation(resumeWitnessOperation, { name }, { config })
    process.stdout.write(`${name} ${hadAlarm ? 'is asked again' : 'had no alarm'}\n`)
    return 0
  },
})
