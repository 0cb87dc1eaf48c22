import { validate } from '../../core/schemas/index.ts'
import { NewShare } from '../contract/shares.ts'
import { runOperation } from '../control/client.ts'
import { shareOperation } from '../control/operations.ts'
import { DATA_DIR, defineCommand, SECRET_FILE } from './command.ts'

/** `evidence-registry share`. */
export const shareCommand = defineCommand({
  name: 'share',
  operand: 'EXTERNAL_ID',
  description: `
Makes a link with which anyone sees what it discloses of an evidence, up to its present version, and prints it. This is
the only time: its secret is not stored. State, times and kinds of events are in every link; of later events nothing
else. The link begins with EVIDENCE_PUBLIC_URL. A running server makes it; if no server runs, the command opens the
registry itself, with the settings of the server.`,
  flags: {
    company: { value: 'ID', isRequired: true, doc: 'the company' },
    field: { value: 'NAME', isMultiple: true, doc: 'a field of events, such as name, owner or meta, or texts' },
    file: { value: 'FILE', isMultiple: true, doc: 'the id of a file, image for the present image, or all' },
    expires: { value: 'TIME', doc: 'such as 2027-01-31T12:00:00Z; default: it has no end' },
    'data-dir': DATA_DIR,
    'secret-file': SECRET_FILE,
  },
  success: 'the link is made',
  failure: 'the registry refuses it, or cannot be used',
  async run({ company, field: fields = [], file: files = [], expires: expiresAt }, config, externalId) {
    const choice = {
      fields,
      files: files.includes('all') ? 'all' : files,
      ...(expiresAt !== undefined && { expiresAt }),
    }
    const args = { companyId: company, externalId, input: validate(NewShare, choice) }
    const { url = '' } = await runOperation(shareOperation, args, { config })
    process.stdout.write(`${url}\n`)
    return 0
  },
})
