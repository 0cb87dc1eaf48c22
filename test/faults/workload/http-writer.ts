import type { FileListing } from '../../../server/contract/files.ts'
import { contentOf, type SentFile, type Step } from './model.ts'

export const OPERATOR_KEY = 'the-key-of-the-operator'
const HEADERS = { 'x-api-key': OPERATOR_KEY }
export const COMPANY = 'acme'

/** A request that was not acknowledged: the status and code of the response. */
export class NotAcknowledged extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string) {
    super(`${status} ${code}`)
    this.status = status
    this.code = code
  }
}

/** Performs the writes of a load on a server. */
export class HttpWriter {
  /** How many requests had each outcome, by `status code`. */
  readonly outcomes = new Map<string, number>()
  readonly #api: string

  constructor(url: string) {
    this.#api = `${url}/api/v1`
  }

  /** Creates the company of the load. */
  async createCompany(): Promise<void> {
    await this.#send('POST', `/sourceSystem/${COMPANY}`, JSON.stringify({ name: 'first', permissions: 'A' }))
  }

  write = async (externalId: string, step: Step): Promise<void> => {
    if (step.kind === 'delete-file') return this.#deleteFile(externalId, step.name)
    const { kind, summary, files } = step
    if (kind === 'update')
      return void (await this.#send('PUT', evidencePath(externalId), formOf({ summary }, 'files', files)))
    const fields = { categoryName: 'Tools', subcategoryName: 'Drills', externalId, name: externalId, summary }
    await this.#send('POST', `/evidences/${COMPANY}/evidence`, formOf(fields, 'images.items', files))
  }

  async #deleteFile(externalId: string, name: string): Promise<void> {
    const listing = JSON.parse(await this.#send('GET', `${evidencePath(externalId)}/files`)) as FileListing
    const file = listing.dt.find((entry) => entry.name === name)
    await this.#send('DELETE', `/evidences/${COMPANY}/file?fileId=${file?.overlayId}`)
  }

  async #send(method: string, path: string, body?: FormData | string): Promise<string> {
    const headers = typeof body === 'string' ? { ...HEADERS, 'content-type': 'application/json' } : HEADERS
    const response = await fetch(this.#api + path, { method, headers, ...(body !== undefined && { body }) })
    const text = await response.text()
    const code = response.ok ? '' : codeOf(text)
    const outcome = `${response.status} ${code}`.trim()
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1)
    if (!response.ok) throw new NotAcknowledged(response.status, code)
    return text
  }
}

const evidencePath = (externalId: string): string => `/evidences/${COMPANY}/evidence/${externalId}`

function formOf(fields: Readonly<Record<string, string>>, slot: string, files: readonly SentFile[]): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  for (const file of files) form.append(slot, new File([new Uint8Array(contentOf(file))], file.name))
  return form
}

function codeOf(text: string): string {
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === 'object' && body !== null && 'code' in body ? String(body.code) : text.slice(0, 80)
  } catch {
    return text.slice(0, 80)
  }
}
