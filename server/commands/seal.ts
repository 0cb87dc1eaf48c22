import { runOperation } from '../control/client.ts'
import { sealOperation } from '../control/operations.ts'
import { DATA_DIR, defineCommand, SECRET_FILE } from './command.ts'

/** `evidence-registry seal`. */
export const sealCommand = defineCommand({
  name: 'seal',
  description: `
Seals every event that is not sealed yet, without waiting for EVIDENCE_SEAL_MAX_WAIT_MS, and prints the signed
checkpoint. A running server does it, on request through control.sock in its data directory. If no server runs, the
command opens the registry itself, with the settings of the server.`,
  flags: { 'data-dir': DATA_DIR, 'secret-file': SECRET_FILE },
  success: 'everything is sealed',
  async run(_, config) {
    const { sealedSize, added, checkpoint } = await runOperation(sealOperation, {}, { config })
    process.stdout.write(`${added} entries sealed, ${sealedSize} in total\n${checkpoint}`)
    return 0
  },
})
