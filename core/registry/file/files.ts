import type { Files } from '../../api/files.ts'
import type { CompanyId } from '../../api/ids.ts'
import { assertTexts } from '../company/api-keys.ts'
import { assertCompany, enterCompany } from '../company/company.ts'
import type { Context } from '../context.ts'
import { authorizeFile } from '../permissions.ts'
import { uuidInput } from '../input-forms.ts'
import { IdInput } from '../../schemas/fields.ts'
import { validate } from '../../schemas/validation.ts'
import { deleteFile } from './delete.ts'
import { findFile } from './find.ts'
import { readFile } from './read.ts'
import { discardUpload, stageFile } from './stage.ts'
import type { FileTokens } from './token.ts'

export const fileOperations = (context: Context, tokens: FileTokens): Files => ({
  stage: async (scope, file, options) => {
    await enterCompany(context, scope, 'I')
    return stageFile(context, file, options)
  },
  discard: async (files) => {
    for (const { id, intent } of files) if (intent !== undefined) await discardUpload(context, { id, intent })
  },
  find: async (scope, selector) => {
    const authorized = authorizeFile(scope, selector.fileId)
    await assertCompany(context, authorized)
    return findFile(context, authorized, selector)
  },
  read: (file, options) => readFile(context, file, options),
  delete: async (scope, selector) => deleteFile(context, await enterCompany(context, scope, 'U'), selector),
  createToken: async (scope, fileId) => {
    const authorized = await enterCompany(context, scope, 'R')
    const selected = uuidInput(validate(IdInput, fileId, 'fileId'))
    const { id } = await findFile(context, authorized, { fileId: selected })
    const { companyId, actor } = authorized
    context.auditLog.note({ companyId, type: 'fileToken', actor, fileId: id })
    return tokens.create(companyId, id)
  },
  authenticateToken: (credentials) => {
    assertTexts(credentials, 'companyId', 'token')
    const fileId = tokens.fileOf(credentials.companyId, credentials.token)
    // The HMAC covers the company, so the token belongs to it.
    return fileId && { kind: 'fileToken', companyId: credentials.companyId as CompanyId, fileId }
  },
})
