import { useState } from 'preact/hooks'
import type { FileEntry, FileListing } from '../../client/index.ts'
import { Dialog, FormDialog, type OnClose } from '../components/dialog.tsx'
import { useForm } from '../components/form.tsx'
import { Icon } from '../components/icon.tsx'
import { Card, Failure, WhenLoaded } from '../components/notice.tsx'
import { Thumb } from '../components/thumb.tsx'
import type { Loading } from '../components/use-load.ts'
import { formatBytes, formatDate, saveFile } from '../format.ts'
import { hasLevel, useSession } from '../session.ts'
import { texts } from '../texts.ts'
import { FileImage, FileText, isText } from './file-preview.tsx'
import { forgetLeftList } from './use-evidences.ts'

export interface EvidenceFilesProps {
  readonly externalId: string
  readonly files: Loading<FileListing>
  /** A file was deleted, so there is a new event. */
  readonly onChange: () => void
}

/** A file, and of what it is if it is not the evidence's own. */
interface ShownFile {
  readonly file: FileEntry
  readonly origin?: string
}

const isPhoto = ({ file }: ShownFile): boolean => file.mimeType.startsWith('image/')

/** All files that the page shows. */
export const allOf = ({ dt, category, subcategory }: FileListing): readonly ShownFile[] => [
  ...dt.map((file) => ({ file })),
  ...category.map((file) => ({ file, origin: texts.evidence.ofCategory })),
  ...subcategory.map((file) => ({ file, origin: texts.evidence.ofSubcategory })),
]

/** The photos as photos, and the other files, of an evidence, its category and its subcategory. */
export function EvidenceFiles({ externalId, files, onChange }: EvidenceFilesProps) {
  const t = texts.evidence
  const { client } = useSession()
  const [shown, setShown] = useState<FileEntry>()
  const [deleted, setDeleted] = useState<FileEntry>()
  const close = (hasChanged: boolean): void => {
    setDeleted(undefined)
    if (!hasChanged) return
    forgetLeftList(client)
    onChange()
  }
  return (
    <Card title={t.files} id="photos">
      <WhenLoaded of={files}>
        {(listed) => {
          const all = allOf(listed)
          if (all.length === 0) return <p class="muted">{t.noFiles}</p>
          return (
            <>
              <div class="grid photos">
                {all.filter(isPhoto).map((each) => (
                  <PhotoItem key={each.file.overlayId} {...each} onShow={setShown} />
                ))}
              </div>
              <ul class="lines">
                {all
                  .filter((each) => !isPhoto(each))
                  .map((each) => (
                    <FileItem key={each.file.overlayId} {...each} onShow={setShown} onDelete={setDeleted} />
                  ))}
              </ul>
            </>
          )
        }}
      </WhenLoaded>
      {shown && <Viewer file={shown} onDelete={setDeleted} onClose={() => setShown(undefined)} />}
      {deleted && <DeleteDialog file={deleted} evidenceId={externalId} onClose={close} />}
    </Card>
  )
}

interface ItemProps extends ShownFile {
  readonly onShow: (file: FileEntry) => void
}

/** A photo, which opens large. */
const PhotoItem = ({ file, origin, onShow }: ItemProps) => (
  <figure>
    <button class="photo-button" aria-label={`${texts.evidence.preview}: ${file.name}`} onClick={() => onShow(file)}>
      <Thumb file={{ id: file.overlayId, mimeType: file.mimeType }} width={480} class="photo" />
    </button>
    <figcaption class="tiny muted">
      <b class="cut">
        <bdi>{file.title}</bdi>
      </b>
      {origin}
    </figcaption>
  </figure>
)

/** A file with what can be done with it. */
function FileItem({ file, origin, onShow, onDelete }: ItemProps & { readonly onDelete: ItemProps['onShow'] }) {
  return (
    <li>
      <span class="thumb">
        <Icon name="file" />
      </span>
      <div class="text">
        <b class="cut">
          <bdi>{file.name}</bdi>
        </b>
        <span class="small muted cut">
          {file.mimeType}, {formatBytes(file.size)}, {formatDate(file.createdAt)} {origin}
        </span>
      </div>
      <FileActions file={file} onShow={isText(file.mimeType) ? onShow : undefined} onDelete={onDelete} />
    </li>
  )
}

interface FileActionsProps {
  readonly file: FileEntry
  readonly onShow?: ItemProps['onShow'] | undefined
  readonly onDelete: ItemProps['onShow']
}

/** Download, show, delete. Files of categories, whose event is 0, are deleted there. */
function FileActions({ file, onShow, onDelete }: FileActionsProps) {
  const t = texts.evidence
  const session = useSession()
  const form = useForm({})
  const { overlayId: fileId, name, eventId } = file
  const download = async (): Promise<void> =>
    saveFile(await (await session.client.downloadFile({ fileId })).blob(), name)
  return (
    <span class="row">
      {form.error !== undefined && <Failure error={form.error} />}
      {onShow && (
        <button onClick={() => onShow(file)} aria-label={`${t.preview}: ${name}`}>
          {t.preview}
        </button>
      )}
      <button onClick={() => void form.run(download)} aria-label={`${t.download}: ${name}`}>
        {t.download}
      </button>
      {eventId > 0 && hasLevel(session, 'U') && (
        <button class="danger" onClick={() => onDelete(file)} aria-label={`${texts.remove}: ${name}`}>
          {texts.remove}
        </button>
      )}
    </span>
  )
}

interface ViewerProps {
  readonly file: FileEntry
  readonly onDelete: ItemProps['onShow']
  readonly onClose: () => void
}

/** A photo or a text, as large as the window allows. */
function Viewer({ file, onDelete, onClose }: ViewerProps) {
  const { overlayId: fileId, name, title, mimeType } = file
  const remove = (each: FileEntry): void => {
    onClose()
    onDelete(each)
  }
  return (
    <Dialog title={title} onClose={onClose} isLarge>
      {isText(mimeType) ? <FileText fileId={fileId} /> : <FileImage fileId={fileId} label={name} />}
      <FileActions file={file} onDelete={remove} />
    </Dialog>
  )
}

interface DeleteDialogProps {
  readonly file: FileEntry
  readonly evidenceId: string
  readonly onClose: OnClose
}

/** Asks before bytes are destroyed for good. */
function DeleteDialog({ file: { name, overlayId: fileId }, evidenceId, onClose }: DeleteDialogProps) {
  const { client } = useSession()
  return (
    <FormDialog
      title={texts.evidence.deleteTitle(name)}
      intro={texts.evidence.deleteIntro}
      form={useForm({})}
      action={() => client.deleteFile({ fileId, evidenceId })}
      submitText={texts.remove}
      isDanger
      onClose={onClose}
    />
  )
}
