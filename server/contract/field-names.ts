import { isRegistryError, RegistryError } from '../../core/index.ts'

/** What requests call a member that the core names differently in its errors. */
const WIRE_NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    companyId: 'COMPANY_ID',
    idempotencyKey: 'Idempotency-Key',
    ifVersion: 'If-Match',
    ifSha256: 'If-Match',
    category: 'categoryId or categoryName',
    'category.id': 'categoryId',
    'category.name': 'categoryName',
    subcategory: 'subcategoryId or subcategoryName',
    'subcategory.id': 'subcategoryId',
    'subcategory.name': 'subcategoryName',
    updateDescription: 'updateActionDescription',
    persona: 'updateActionPersona',
    updateType: 'actionType',
    expectedType: 'action',
    after: 'last',
    limit: 'len',
    cursor: 'next',
    externalIdPrefix: 'externalId',
    words: 'q',
  }),
)

/**
 * A validation error of the core with the names that the contract has for its field and for the fields that its message
 * writes in backquotes; any other error unchanged.
 *
 * @param own - parameters of the request, which keep their names
 */
export function withWireNames(error: unknown, own: object = {}): unknown {
  if (!isRegistryError(error) || (error.field === undefined && error.code !== 'VALIDATION_ERROR')) return error
  const { code, field = '', message } = error
  const wireNameOf = (name: string) => (Object.hasOwn(own, name) ? undefined : WIRE_NAMES.get(name))
  const wireField = message.startsWith(field) ? wireNameOf(field) : undefined
  const renamed = wireField === undefined ? message : wireField + message.slice(field.length)
  const text = renamed.replaceAll(/`(\w+)`/g, (quoted, name: string) => {
    const wireName = wireNameOf(name)
    return wireName === undefined ? quoted : `\`${wireName}\``
  })
  return text === message ? error : new RegistryError(code, text, { cause: error, field: wireField ?? field })
}
