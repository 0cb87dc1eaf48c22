import { RegistryError } from '../../core/errors.ts'
import { FileSelector, FileToken } from '../../core/registry/schemas.ts'
import { sendFile } from '../http/download.ts'
import { endpoint, type EndpointGroup } from '../contract/endpoint.ts'
import { DownloadQuery, Ok, TokenRequest } from '../contract/shapes.ts'

const FILE = '/evidences/{COMPANY_ID}/file'

/** Endpoints 14 and 15 of the contract, and the token. */
export const files: EndpointGroup = {
  tag: 'Files',
  description: 'Content of files',
  endpoints: [
    endpoint({
      id: 'downloadFile',
      method: 'GET',
      path: FILE,
      access: 'fileToken',
      summary: 'Download a file',
      description:
        'Whole or one range. Every owner that the query names must own the file. `ETag` is the SHA-256 of the content. What could run in a browser is sent as application/octet-stream.',
      query: DownloadQuery,
      answer: {
        media: '*/*',
        description: 'The content',
        others: { 206: 'One range of the content', 304: 'You have it already' },
      },
      errors: ['FILE_NOT_FOUND', 'RANGE_NOT_SATISFIABLE'],
      async handle({ registry, ctx, scope, query }) {
        const { mimeType, token, ...selector } = query
        const fileId =
          selector.fileId ?? (token === undefined ? undefined : registry.files.tokenFile(scope.companyId, token))
        if (fileId === undefined) throw new RegistryError('VALIDATION_ERROR', 'fileId is required')
        const file = await registry.files.find(scope, { ...selector, fileId })
        await sendFile(ctx, registry.files, file, mimeType)
      },
    }),
    endpoint({
      id: 'deleteFile',
      method: 'DELETE',
      path: FILE,
      access: 'U',
      summary: 'Delete a file',
      description:
        "Appends a deletefile event and destroys the bytes; the history still verifies. A category's image goes without an event.",
      query: FileSelector,
      answer: { schema: Ok },
      errors: ['FILE_NOT_FOUND'],
      async handle({ registry, scope, query }) {
        await registry.files.delete(scope, query)
        return { status: 'ok' }
      },
    }),
    endpoint({
      id: 'createFileToken',
      method: 'POST',
      path: `${FILE}/token`,
      access: 'R',
      summary: 'Open one file for five minutes to whoever has the token',
      body: { schema: TokenRequest, example: { fileId: '01890a5d-ac96-774b-bcce-b302099a8057' } },
      answer: { status: 201, schema: FileToken },
      errors: ['FILE_NOT_FOUND'],
      handle: ({ registry, scope, input }) => registry.files.createToken(scope, input.fileId),
    }),
  ],
}
