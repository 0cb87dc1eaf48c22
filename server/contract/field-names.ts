import { isRegistryError, RegistryError } from '../../core/index.ts'

/** Names that requests of several endpoints share. */
const SHARED: Readonly<Record<string, string>> = {
  companyId: 'COMPANY_ID',
  idempotencyKey: 'Idempotency-Key',
  ifVersion: 'If-Match',
}

/** A validation error of the core with the name that the contract has for its field; any other error unchanged. */
export function withWireNames(error: unknown, names: Readonly<Record<string, string>> = {}): unknown {
  if (!isRegistryError(error) || error.field === undefined) return error
  const { code, field, message } = error
  const wireName = names[field] ?? SHARED[field]
  if (wireName === undefined || !message.startsWith(field)) return error
  return new RegistryError(code, wireName + message.slice(field.length), { cause: error, field: wireName })
}
